// The little JSON that the demo's upstream writes and reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hushgate::app {

// A JSON string of any bytes: UTF-8 as it is, anything else read as Latin-1.
std::string json_string(std::string_view bytes);

// The same value without blanks; nothing if `text` is no JSON (RFC 8259).
std::optional<std::string> compact_json(std::string_view text);

// `text` up to `limit` bytes, never ending inside a UTF-8 sequence.
std::string_view cut_text(std::string_view text, std::size_t limit);

// What a chat request asks for (the OpenAI chat completions API), as far as the demo cares.
enum class ChatDelivery : std::uint8_t { whole, stream };
enum class ChatUsage : std::uint8_t { left_out, included };  // of a stream's last chunk

struct ChatAsk {
  std::string model{};
  ChatDelivery delivery = ChatDelivery::whole;
  ChatUsage usage = ChatUsage::left_out;
  std::size_t prompt_words = 0;  // of all messages
};

// Nothing if `body` is no JSON object with an array `messages`.
std::optional<ChatAsk> read_chat_ask(std::string_view body);

}  // namespace hushgate::app
