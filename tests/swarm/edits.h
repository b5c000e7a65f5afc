// Parts taken away from a plan, by name, so that what is left of a failing life can be told in one
// line: "c3 c1.5 w0 a17.0".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/swarm/plan.h"

namespace hushgate::swarm {

// c3     client 3 does not come
// c3.5   it does its first 5 steps only
// p3.5   its step 5, a pause, takes no time
// a17.0  answer 0 to ask 17 is a proper one
// o2     ordeal 2 does not happen
// w1     weather: simplification number 1 of kWeathers
// n      names resolve at once, to all of their addresses
struct Edit {
  char kind = 'c';
  std::size_t first = 0;
  std::size_t second = 0;
};

inline constexpr std::size_t kWeathers = 8;

std::string to_text(const std::vector<Edit>& edits);
// Empty where `text` is no list of edits.
std::vector<Edit> edits_of(std::string_view text);
Plan edited(Plan plan, const std::vector<Edit>& edits);

// Takes away from the plan what can go while `fails` stays true; at most `most` tries.
std::vector<Edit> shrink(const Plan& plan, const std::function<bool(const Plan&)>& fails,
                         std::size_t most);

}  // namespace hushgate::swarm
