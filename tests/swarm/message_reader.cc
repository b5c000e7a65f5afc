#include "tests/swarm/message_reader.h"

#include <algorithm>
#include <charconv>

namespace hushgate::swarm {
namespace {

constexpr std::size_t kMaxLineBytes = 70'000;  // more than the gateway takes in a head
constexpr std::size_t kMaxFields = 256;
constexpr std::size_t kMaxHexDigits = 15;

using namespace std::string_view_literals;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return alpha || is_digit(c) || "!#$%&'*+-.^_`|~"sv.contains(c);
  });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view value) {
  const std::size_t first = value.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(" \t") - first + 1);
}

bool is_version(std::string_view text) { return text == "HTTP/1.1" || text == "HTTP/1.0"; }

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

MessageReader::State MessageReader::state() const {
  switch (part_) {
    case Part::start_line: return partial_.empty() ? State::start : State::head;
    case Part::field: return State::head;
    case Part::tunnel: return State::tunnel;
    case Part::nothing: return State::faulty;
    default: return State::body;
  }
}

std::string_view MessageReader::field(std::string_view name) const {
  const auto found = std::ranges::find_if(
      fields_, [name](const auto& field) { return same_name(field.first, name); });
  return found == fields_.end() ? std::string_view{} : std::string_view(found->second);
}

std::size_t MessageReader::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields_, [name](const auto& field) { return same_name(field.first, name); }));
}

MessageReader::Event MessageReader::read(std::string_view& bytes) {
  payload_ = {};
  while (!bytes.empty() || part_ == Part::end) {
    const Event event = advance(bytes);
    if (event != Event::none) return event;
  }
  return Event::none;
}

MessageReader::Event MessageReader::finish() {
  payload_ = {};
  switch (part_) {
    case Part::eof: part_ = Part::start_line; return Event::end;
    case Part::tunnel: return Event::end;
    case Part::start_line:
      if (partial_.empty()) return Event::none;
      [[fallthrough]];
    default: return fail("the connection ended in the middle of a message");
  }
}

MessageReader::Event MessageReader::advance(std::string_view& bytes) {
  switch (part_) {
    case Part::end: part_ = Part::start_line; return Event::end;
    case Part::length:
    case Part::chunk:
    case Part::eof:
    case Part::tunnel: return take_payload(bytes);
    case Part::nothing: return Event::fault;
    default: break;
  }
  const std::optional<std::string_view> line = take_line(bytes);
  if (!line) return part_ == Part::nothing ? Event::fault : Event::none;
  return read_line(*line);
}

MessageReader::Event MessageReader::read_line(std::string_view line) {
  switch (part_) {
    case Part::start_line: return read_start_line(line);
    case Part::field: return line.empty() ? end_head() : read_field(line);
    case Part::trailer: return line.empty() ? end_trailer() : read_field(line);
    case Part::chunk_line: return read_chunk_line(line);
    default: break;
  }
  if (!line.empty()) return fail("a chunk that is longer than its size");
  part_ = Part::chunk_line;
  return Event::none;
}

MessageReader::Event MessageReader::take_payload(std::string_view& bytes) {
  const bool bounded = part_ == Part::length || part_ == Part::chunk;
  const std::size_t most =
      bounded ? std::min<std::uint64_t>(left_bytes_, bytes.size()) : bytes.size();
  payload_ = bytes.substr(0, most);
  bytes.remove_prefix(most);
  body_bytes_ += most;
  if (!bounded) return Event::body;
  left_bytes_ -= most;
  if (left_bytes_ == 0) part_ = part_ == Part::length ? Part::end : Part::chunk_end;
  return Event::body;
}

std::optional<std::string_view> MessageReader::take_line(std::string_view& bytes) {
  const std::size_t lf = bytes.find('\n');
  std::string_view line = bytes.substr(0, lf == std::string_view::npos ? lf : lf + 1);
  bytes.remove_prefix(line.size());
  if (partial_.size() + line.size() > kMaxLineBytes) {
    fail("a line without an end");
    return std::nullopt;
  }
  if (lf == std::string_view::npos) {
    partial_ += line;
    return std::nullopt;
  }
  if (!partial_.empty()) {
    partial_ += line;
    joined_.swap(partial_);
    partial_.clear();
    line = joined_;
  }
  if (!line.ends_with("\r\n") || line.find_first_of("\r\0"sv) != line.size() - 2) {
    fail("a bare CR or LF, or a NUL");
    return std::nullopt;
  }
  return line.substr(0, line.size() - 2);
}

MessageReader::Event MessageReader::read_start_line(std::string_view line) {
  start_line_ = line;
  fields_.clear();
  framing_ = Framing::none;
  body_bytes_ = 0;
  const bool good =
      role_ == Role::request ? read_request_line(start_line_) : read_status_line(start_line_);
  if (!good) return fail("not a start line: " + start_line_);
  part_ = Part::field;
  return Event::start_line;
}

bool MessageReader::read_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return false;
  method_ = line.substr(0, first);
  target_ = line.substr(first + 1, second - first - 1);
  version_ = line.substr(second + 1);
  const bool visible = std::ranges::all_of(target_, [](char c) { return c > ' ' && c < '\x7F'; });
  return is_token(method_) && !target_.empty() && visible && is_version(version_);
}

bool MessageReader::read_status_line(std::string_view line) {
  constexpr std::size_t kLeastBytes = "HTTP/1.1 200 "sv.size();
  if (line.size() < kLeastBytes || line[8] != ' ' || line[12] != ' ') return false;
  version_ = line.substr(0, 8);
  const std::optional<std::uint64_t> code = number(line.substr(9, 3), 10);
  status_ = code && *code >= 100 && *code < 600 ? static_cast<int>(*code) : 0;
  return is_version(version_) && status_ != 0;
}

MessageReader::Event MessageReader::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return fail("not a field: " + std::string(line));
  }
  if (fields_.size() == kMaxFields) return fail("too many fields");
  fields_.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  return Event::none;
}

MessageReader::Event MessageReader::read_chunk_line(std::string_view line) {
  const std::optional<std::uint64_t> size = number(line, 16);
  if (!size || line.size() > kMaxHexDigits) return fail("not a chunk size: " + std::string(line));
  left_bytes_ = *size;
  if (left_bytes_ == 0) fields_.clear();
  part_ = left_bytes_ == 0 ? Part::trailer : Part::chunk;
  return Event::none;
}

MessageReader::Event MessageReader::end_head() {
  const std::size_t codings = count("Transfer-Encoding");
  const std::size_t lengths = count("Content-Length");
  if (lengths > 1) return fail("Content-Length twice");
  if (codings > 1) return fail("Transfer-Encoding twice");
  if (codings + lengths == 2) return fail("Content-Length beside Transfer-Encoding");
  if (codings == 1 && version_ == "HTTP/1.0") return fail("Transfer-Encoding in HTTP/1.0");
  if (codings == 1 && !same_name(field("Transfer-Encoding"), "chunked")) {
    return fail("an unknown coding: " + std::string(field("Transfer-Encoding")));
  }
  return role_ == Role::request ? end_request_head(codings, lengths)
                                : end_response_head(codings, lengths);
}

MessageReader::Event MessageReader::end_request_head(std::size_t codings, std::size_t lengths) {
  return begin_body(codings, lengths, Framing::none);
}

MessageReader::Event MessageReader::end_response_head(std::size_t codings, std::size_t lengths) {
  if (methods_.empty()) return fail("a response that nobody asked for: " + start_line_);
  const bool interim = status_ < 200;
  if ((interim || status_ == 204) && codings + lengths > 0) {
    return fail("framing in a response that has no body: " + start_line_);
  }
  if (interim && status_ != 101) {
    part_ = Part::start_line;
    return Event::head;
  }
  const std::string method = std::move(methods_.front());
  methods_.pop_front();
  if (status_ == 101 || (method == "CONNECT" && status_ < 300)) {
    part_ = Part::tunnel;
    return Event::head;
  }
  if (method == "HEAD" || status_ == 204 || status_ == 304) {
    part_ = Part::end;
    return Event::head;
  }
  return begin_body(codings, lengths, Framing::eof);
}

MessageReader::Event MessageReader::begin_body(std::size_t codings, std::size_t lengths,
                                               Framing otherwise) {
  if (codings == 1) {
    framing_ = Framing::chunked;
    part_ = Part::chunk_line;
    return Event::head;
  }
  if (lengths == 0) {
    framing_ = otherwise;
    part_ = otherwise == Framing::eof ? Part::eof : Part::end;
    return Event::head;
  }
  const std::optional<std::uint64_t> length = number(field("Content-Length"), 10);
  if (!length) return fail("not a Content-Length: " + std::string(field("Content-Length")));
  framing_ = Framing::length;
  left_bytes_ = *length;
  part_ = left_bytes_ == 0 ? Part::end : Part::length;
  return Event::head;
}

MessageReader::Event MessageReader::end_trailer() {
  for (const std::string_view name : {"Content-Length"sv, "Transfer-Encoding"sv, "Host"sv}) {
    if (count(name) > 0) return fail("in a trailer: " + std::string(name));
  }
  part_ = Part::end;
  return fields_.empty() ? Event::none : Event::trailer;
}

MessageReader::Event MessageReader::fail(std::string why) {
  part_ = Part::nothing;
  fault_ = std::move(why);
  return Event::fault;
}

}  // namespace hushgate::swarm
