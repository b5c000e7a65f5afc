// The known word that was probably meant.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hushgate::config {

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other, letter
// case apart.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The first of those with the least distance; empty if there are none. What begins with `word`, of
// three letters or more, is one edit away from it: "cert" means "certificate" rather than "key".
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace hushgate::config
