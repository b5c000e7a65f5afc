// What both model APIs of the demo have in common: the words, and how they are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "app/demo_json.h"
#include "app/demo_reply.h"

namespace hushgate::app {

inline constexpr std::array<std::string_view, 12> kDemoTokens{
    "Silence",    " is",  " not",    " failure:", " somebody", " was",
    " thinking,", " and", " nobody", " hung",     " up",       "."};
inline constexpr std::uint64_t kMaxDemoTokens = 1'000;

struct ModelAsk {
  ChatAsk chat{};
  std::string model{};  // the one asked for, as a JSON string
  Ms think{0};
  std::size_t tokens = kDemoTokens.size();
};

// A POST with messages. `?think=SECONDS`, else the field X-Demo-Think, else timing.think;
// `?tokens=N`, else twelve. The refusal says what is wrong.
std::expected<ModelAsk, DemoReply> read_model_ask(const DemoRequest& request,
                                                  const DemoTiming& timing);

std::string_view demo_token(std::size_t index);  // from 0; the twelve, again and again
std::string demo_text(std::size_t tokens);       // all of them as one

}  // namespace hushgate::app
