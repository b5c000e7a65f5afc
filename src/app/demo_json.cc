#include "app/demo_json.h"

#include <array>
#include <utility>

#include "base/rapidjson.h"

namespace hushgate::app {
namespace {

constexpr std::size_t kMaxModelBytes = 200;

// Iterative: nesting costs heap and not stack, whatever a client sends.
constexpr unsigned kParse = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                            rapidjson::kParseValidateEncodingFlag;

using StrictWriter =
    rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                      rapidjson::CrtAllocator, rapidjson::kWriteValidateEncodingFlag>;

// Nothing if `text` is not UTF-8.
std::optional<std::string> string_of_utf8(std::string_view text) {
  rapidjson::StringBuffer buffer;
  StrictWriter writer(buffer);
  if (!writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()))) {
    return std::nullopt;
  }
  return std::string(buffer.GetString(), buffer.GetSize());
}

std::string utf8_of_latin1(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0U | (byte >> 6U));
      text += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return text;
}

std::size_t count_words(std::string_view text) {
  std::size_t words = 0;
  char before = ' ';
  for (const char c : text) {
    if (c != ' ' && before == ' ') ++words;
    before = c;
  }
  return words;
}

// Picks what it knows out of a chat request. Values are told apart by the keys that lead to them;
// of what is deeper than kKeys only the depth is followed.
class ChatReader : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ChatReader> {
 public:
  bool has_messages() const { return has_messages_; }
  ChatAsk take() { return std::move(ask_); }

  bool Default() { return true; }
  bool Bool(bool value) {
    if (!value) return true;
    if (is_at(1, "stream")) ask_.delivery = ChatDelivery::stream;
    if (is_at(2, "include_usage") && keys_[0] == "stream_options") {
      ask_.usage = ChatUsage::included;
    }
    return true;
  }
  bool String(const char* data, rapidjson::SizeType size, bool) {
    const std::string_view text(data, size);
    if (is_at(1, "model")) ask_.model = cut_text(text, kMaxModelBytes);
    // {"messages": [{"content": ...}]}
    if (is_at(3, "content") && keys_[0] == "messages") ask_.prompt_words += count_words(text);
    return true;
  }
  bool Key(const char* data, rapidjson::SizeType size, bool) {
    if (depth_ <= kKeys) keys_[depth_ - 1] = cut_text({data, size}, kMaxKeyBytes);
    return true;
  }
  bool StartObject() { return open(); }
  bool StartArray() {
    if (is_at(1, "messages")) has_messages_ = true;
    return open();
  }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

 private:
  static constexpr std::size_t kKeys = 3;
  static constexpr std::size_t kMaxKeyBytes = 64;

  bool is_at(std::size_t depth, std::string_view key) const {
    return depth_ == depth && keys_[depth - 1] == key;
  }
  bool open() {
    if (depth_ < kKeys) keys_[depth_].clear();
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  ChatAsk ask_;
  bool has_messages_ = false;
  std::size_t depth_ = 0;
  std::array<std::string, kKeys> keys_{};  // the last one of each open object; empty in an array
};

}  // namespace

std::string json_string(std::string_view bytes) {
  if (auto text = string_of_utf8(bytes)) return *std::move(text);
  return string_of_utf8(utf8_of_latin1(bytes)).value_or("\"\"");
}

std::optional<std::string> compact_json(std::string_view text) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  rapidjson::Reader reader;
  if (reader.Parse<kParse>(stream, writer).IsError()) return std::nullopt;
  return std::string(buffer.GetString(), buffer.GetSize());
}

std::string_view cut_text(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  constexpr int kMaxContinuations = 3;
  std::size_t end = limit;
  for (int i = 0; i < kMaxContinuations && end > 0; ++i) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U) break;
    --end;
  }
  return text.substr(0, end);
}

std::optional<ChatAsk> read_chat_ask(std::string_view body) {
  rapidjson::MemoryStream stream(body.data(), body.size());
  rapidjson::Reader reader;
  ChatReader chat;
  if (reader.Parse<kParse>(stream, chat).IsError() || !chat.has_messages()) return std::nullopt;
  return chat.take();
}

}  // namespace hushgate::app
