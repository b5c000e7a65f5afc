#include "http/chunked.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "base/limits.h"
#include "http/framing.h"
#include "http/parser.h"
#include "http/text.h"

namespace hushgate::http {

namespace {

constexpr std::uint8_t kMaxSizeDigits = 16;

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Where the data of the chunk lies with which `text` begins, if all of it is there, with a plain
// line: nearly every event of a stream is one. Of size 0 otherwise.
struct WholeChunk {
  std::size_t at = 0;
  std::size_t size = 0;
};
WholeChunk whole_chunk(std::string_view text) {
  constexpr std::size_t kMostDigits = 7;
  std::size_t digits = 0;
  std::size_t size = 0;
  for (; digits < text.size(); ++digits) {
    const int digit = hex_value(text[digits]);
    if (digit < 0) break;
    if (digits == kMostDigits) return {};
    size = (size << 4) | static_cast<std::size_t>(digit);
  }
  const std::size_t at = digits + 2;
  if (size == 0 || text.size() < at + size + 2) return {};
  if (text[digits] != '\r' || text[digits + 1] != '\n') return {};
  if (text[at + size] != '\r' || text[at + size + 1] != '\n') return {};
  return {at, size};
}

}  // namespace

// What may follow the size, an extension's name or its value.
ChunkedDecoder::State ChunkedDecoder::after_size(char c) {
  if (c == '\r') return State::line_lf;
  if (c == ';') return State::ext_name_first;
  return State::failed;
}

// chunk-ext = *( BWS ";" BWS ext-name [ BWS "=" BWS ext-val ] ). Blanks must be followed by what
// they are BWS of, so a size that is padded up to its CRLF is refused.
ChunkedDecoder::State ChunkedDecoder::on_line_byte(char c) {
  const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  switch (state_) {
    case State::size_first:
    case State::size: {
      const int digit = hex_value(c);
      if (digit < 0) {
        if (state_ == State::size_first) return State::failed;
        return is_blank(c) ? State::ext_blank : after_size(c);
      }
      if (++digits_ > kMaxSizeDigits || size_ > (kMaxContentLength >> 4)) return State::failed;
      size_ = (size_ << 4) | static_cast<std::uint64_t>(digit);
      return State::size;
    }
    case State::ext_blank:
      if (is_blank(c)) return State::ext_blank;
      return c == ';' ? State::ext_name_first : State::failed;
    case State::ext_name_first:
      if (is_blank(c)) return State::ext_name_first;
      return is_tchar(c) ? State::ext_name : State::failed;
    case State::ext_name:
      if (is_tchar(c)) return State::ext_name;
      if (c == '=') return State::ext_value_first;
      return is_blank(c) ? State::ext_name_blank : after_size(c);
    case State::ext_name_blank:
      if (is_blank(c)) return State::ext_name_blank;
      if (c == '=') return State::ext_value_first;
      return c == ';' ? State::ext_name_first : State::failed;
    case State::ext_value_first:
      if (is_blank(c)) return State::ext_value_first;
      if (c == '"') return State::ext_quoted;
      return is_tchar(c) ? State::ext_token : State::failed;
    case State::ext_token:
      if (is_tchar(c)) return State::ext_token;
      return is_blank(c) ? State::ext_blank : after_size(c);
    case State::ext_quoted:
      if (c == '"') return State::ext_quoted_end;
      if (c == '\\') return State::ext_escape;
      return control ? State::failed : State::ext_quoted;
    case State::ext_escape: return control ? State::failed : State::ext_quoted;
    case State::ext_quoted_end: return is_blank(c) ? State::ext_blank : after_size(c);
    case State::line_lf:
      if (c != '\n') return State::failed;
      return size_ == 0 ? State::trailer_first : State::data;
    case State::data_cr: return c == '\r' ? State::data_lf : State::failed;
    case State::data_lf: return c == '\n' ? State::size_first : State::failed;
    case State::trailer_first: return c == '\r' ? State::trailer_lf : State::trailers;
    case State::trailer_lf: return c == '\n' ? State::done : State::failed;
    case State::data:
    case State::trailers:
    case State::done:
    case State::failed: break;
  }
  HG_ASSERT(false);
  return State::failed;
}

ChunkedStep ChunkedDecoder::fail(ErrorKind error, std::size_t consumed) {
  state_ = State::failed;
  return {ChunkedEvent::error, error, consumed, {}};
}

ChunkedStep ChunkedDecoder::decode(Bytes in, Trailers& trailers) {
  HG_ASSERT(state_ != State::done && state_ != State::failed);
  const std::string_view text = as_text(in);
  if (state_ == State::size_first) {
    const WholeChunk whole = whole_chunk(text);
    if (whole.size > 0) {
      return {ChunkedEvent::data, ErrorKind::none, whole.at + whole.size + 2,
              in.subspan(whole.at, whole.size)};
    }
  }
  std::size_t at = 0;
  while (at < text.size()) {
    if (state_ == State::data) {
      const std::size_t piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(size_, text.size() - at));
      size_ -= piece;
      if (size_ == 0) state_ = State::data_cr;
      return {ChunkedEvent::data, ErrorKind::none, at + piece, in.subspan(at, piece)};
    }
    if (state_ == State::trailers) return take_trailers(text, at, trailers);
    const State next = on_line_byte(text[at]);
    if (next == State::failed) return fail(ErrorKind::bad_request, at);
    if (next == State::trailers) {  // this byte is a field line's
      state_ = next;
      continue;
    }
    ++at;
    if (state_ == State::data_lf) {
      line_bytes_ = 0;
      digits_ = 0;
    } else if (state_ <= State::line_lf && ++line_bytes_ > kMaxChunkLineBytes) {
      return fail(ErrorKind::bad_request, at);
    }
    state_ = next;
    if (state_ == State::done) return {ChunkedEvent::done, ErrorKind::none, at, {}};
  }
  return {ChunkedEvent::need_more, ErrorKind::none, at, {}};
}

ChunkedStep ChunkedDecoder::take_trailers(std::string_view text, std::size_t at,
                                          Trailers& trailers) {
  const std::size_t before = trailers.text.size();
  // One byte over the bound is enough for the scanner to see that it is over.
  const std::size_t room = trailer_scan_.bounds().max_head_bytes - before + 1;
  const std::string_view piece = text.substr(at, room);
  trailers.text.append(piece);
  const Scan scan = trailer_scan_.scan(trailers.text);
  if (scan.event == ScanEvent::refused) return fail(scan.error, at);
  if (scan.event == ScanEvent::need_more) {
    return {ChunkedEvent::need_more, ErrorKind::none, text.size(), {}};
  }
  trailers.text.resize(scan.length);
  if (auto parsed = parse_field_lines(trailers.text, trailers.fields); !parsed) {
    return fail(parsed.error().kind, at);
  }
  state_ = State::done;
  return {ChunkedEvent::done, ErrorKind::none, at + scan.length - before, {}};
}

std::size_t write_chunk_header(std::uint64_t size, char* out) {
  HG_ASSERT(size > 0);
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto digits = static_cast<std::size_t>((67 - std::countl_zero(size)) / 4);
  for (std::size_t i = digits; i-- > 0; size >>= 4) out[i] = kDigits[size & 0xF];
  out[digits] = '\r';
  out[digits + 1] = '\n';
  return digits + 2;
}

}  // namespace hushgate::http
