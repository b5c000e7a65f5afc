// The room of texts that are filled and emptied often, by many owners who hold nothing most of the
// time: it goes from one to the next, so that those who are empty cost nothing and a warm thread
// asks the heap for none.
#pragma once

#include <cstddef>
#include <string>

namespace hushgate {

inline constexpr std::size_t kWarmBytes = 4'096;    // room for more than this is not kept
inline constexpr std::size_t kMaxSpareTexts = 256;  // kept per thread

inline bool has_room(const std::string& text) { return text.capacity() > std::string().capacity(); }

// Of this thread's spare room, if there is any; `text` keeps what it holds.
void find_room(std::string& text);
void give_back_room(std::string& text) noexcept;

// For who is about to write more than a few bytes.
inline void take_room(std::string& text) {
  if (!has_room(text)) find_room(text);
}
// Empties it.
inline void give_room(std::string& text) noexcept {
  text.clear();
  if (has_room(text)) give_back_room(text);
}

}  // namespace hushgate
