#include "config/json.h"

#include <algorithm>
#include <utility>

#include "base/rapidjson.h"

namespace hushgate::config {
namespace {

// RapidJSON copies the streams that it knows while it reads a token; of this one it sees every
// step, so that Tell() is the end of the token in every callback.
class Stream {
 public:
  using Ch = char;

  explicit Stream(std::string_view text) : text_(text) {}

  Ch Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  Ch Take() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  std::size_t Tell() const { return at_; }
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  std::size_t PutEnd(Ch*) { return 0; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Turns offsets that never go back into lines and columns.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  Position move_to(std::size_t offset) {
    for (; at_ < std::min(offset, text_.size()); ++at_) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '\n') {
        ++position_.line;
        position_.column = 1;
      } else if ((byte & 0xc0U) != 0x80U) {  // not inside a UTF-8 sequence
        ++position_.column;
      }
    }
    return position_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  Position position_{.line = 1, .column = 1};
};

// Where the next token begins: behind white space, comments, commas and colons.
std::size_t next_token(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    std::size_t end = std::string_view::npos;
    if (rest.starts_with("//")) {
      end = text.find('\n', at);
    } else if (rest.starts_with("/*")) {
      end = text.find("*/", at + 2);
      if (end != std::string_view::npos) ++end;
    } else if (std::string_view(" \t\r\n,:").contains(rest.front())) {
      end = at;
    } else {
      return at;
    }
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return text.size();
}

class TreeBuilder {
 public:
  using Ch = char;

  TreeBuilder(std::string_view text, const Stream& stream)
      : text_(text), stream_(stream), cursor_(text) {}

  bool Null() { return scalar(Value::Type::null, "null"); }
  bool Bool(bool value) { return scalar(Value::Type::boolean, value ? "true" : "false"); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) {
    const std::size_t begin = next_token(text_, token_end_);
    return scalar(Value::Type::number, text_.substr(begin, stream_.Tell() - begin));
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return scalar(Value::Type::string, {text, size});
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    open_.back().key_at = token();
    open_.back().key.assign(text, size);
    return true;
  }
  bool StartObject() { return open(Value::Type::object); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(Value::Type::array); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  // Never called: numbers come raw.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  bool too_deep() const { return too_deep_; }
  Position position(std::size_t offset) { return cursor_.move_to(offset); }

  // "limits.idleTimeoutMs": the key that is being read.
  std::string path() const {
    std::string path;
    for (const Open& open : open_) {
      if (open.value.type != Value::Type::object || open.key.empty()) continue;
      if (!path.empty()) path += '.';
      path += open.key;
    }
    return path;
  }

  Value root;
  std::vector<SyntaxFault> faults;

 private:
  struct Open {
    Value value;
    std::string key{};
    Position key_at{};
  };

  // The token that has just been read: where it began.
  Position token() {
    const Position at = cursor_.move_to(next_token(text_, token_end_));
    token_end_ = stream_.Tell();
    return at;
  }

  // The same for { } [ ], which are reported before they are taken.
  Position bracket() {
    const std::size_t begin = next_token(text_, token_end_);
    token_end_ = begin + 1;
    return cursor_.move_to(begin);
  }

  bool scalar(Value::Type type, std::string_view text) {
    add({.type = type, .at = token(), .text = std::string(text)});
    return true;
  }

  bool open(Value::Type type) {
    too_deep_ = open_.size() >= kMaxDepth;
    if (too_deep_) return false;
    open_.push_back({.value = {.type = type, .at = bracket()}});
    return true;
  }

  bool close() {
    bracket();
    Value value = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(value));
    return true;
  }

  void add(Value value) {
    if (open_.empty()) {
      root = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.type == Value::Type::object) {
      if (parent.value.find(parent.key) != nullptr) {
        faults.push_back({parent.key_at, "duplicate key " + path() + "; it may be set once only"});
        parent.key.clear();
        return;
      }
      value.key = std::exchange(parent.key, {});
      value.key_at = parent.key_at;
    }
    parent.value.items.push_back(std::move(value));
  }

  std::string_view text_;
  const Stream& stream_;
  Cursor cursor_;
  std::size_t token_end_ = 0;
  std::vector<Open> open_;
  bool too_deep_ = false;
};

std::string_view explanation(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty:
      return "the file holds no JSON; it must hold one object { ... }";
    case rapidjson::kParseErrorDocumentRootNotSingular:
      return "nothing may follow the closing } of the configuration";
    case rapidjson::kParseErrorValueInvalid:
      return "this is no JSON value; write a number, a \"string\", true, false, [ ... ] or { ... }";
    case rapidjson::kParseErrorObjectMissName:
      return "a key in double quotes must come here (and no comma may stand before a closing })";
    case rapidjson::kParseErrorObjectMissColon: return "a colon must follow a key";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket:
      return "a comma or a closing } must come here (is a comma missing on the line above?)";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket:
      return "a comma or a closing ] must come here";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex:
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid:
      return "a \\u escape must have four hex digits and form a whole character";
    case rapidjson::kParseErrorStringEscapeInvalid:
      return "this escape does not exist; write \\\\ for a backslash";
    case rapidjson::kParseErrorStringMissQuotationMark:
      return "a string must end with a double quote on its line";
    case rapidjson::kParseErrorStringInvalidEncoding:
      return "strings must be UTF-8 without control characters";
    case rapidjson::kParseErrorNumberTooBig: return "this number is too big";
    case rapidjson::kParseErrorNumberMissFraction:
      return "digits must follow the point of a number";
    case rapidjson::kParseErrorNumberMissExponent:
      return "digits must follow the exponent of a number";
    case rapidjson::kParseErrorUnspecificSyntaxError:
      return "a comment must begin with // or /* and end";
    default: return "this is no JSON";
  }
}

// The parser has one code for both: an escape that it does not know, and a control character.
std::string_view in_string(char control) {
  if (control == '\n' || control == '\r') {
    return explanation(rapidjson::kParseErrorStringMissQuotationMark);
  }
  return "a control character in a string must be written as an escape, as in \\t";
}

}  // namespace

const Value* Value::find(std::string_view wanted) const {
  if (type != Type::object) return nullptr;
  const auto found = std::ranges::find(items, wanted, &Value::key);
  return found == items.end() ? nullptr : &*found;
}

std::string Value::shown() const {
  switch (type) {
    case Type::null: return "null";
    case Type::boolean: return text;
    case Type::number:
      return text.size() <= kMaxQuotedBytes ? text : text.substr(0, kMaxQuotedBytes) + "...";
    case Type::string: return quoted(text);
    case Type::array: return "an array";
    case Type::object: return "an object";
  }
  return {};
}

Parsed parse_json(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  if (text.size() > kMaxFileBytes) {
    const std::string most = std::to_string(kMaxFileBytes);
    return {.root = {}, .faults = {{{}, "the file has more than " + most + " bytes"}}};
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return {.root = {},
            .faults = {{Cursor(text).move_to(nul), "a NUL byte; the file must be text"}}};
  }
  constexpr unsigned kFlags = rapidjson::kParseCommentsFlag |
                              rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag;
  Stream stream(text);
  TreeBuilder builder(text, stream);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (result.IsError()) {
    const Position at = builder.position(std::min(result.Offset(), text.size()));
    std::string words(explanation(result.Code()));
    const char found = result.Offset() < text.size() ? text[result.Offset()] : '\0';
    if (result.Code() == rapidjson::kParseErrorStringEscapeInvalid && found != '\\') {
      words = in_string(found);
    }
    if (builder.too_deep()) words = "more than " + std::to_string(kMaxDepth) + " levels of { and [";
    const std::string path = builder.path();
    builder.faults.push_back({at, path.empty() ? words : "in " + path + ": " + words});
  }
  return {.root = std::move(builder.root), .faults = std::move(builder.faults)};
}

}  // namespace hushgate::config
