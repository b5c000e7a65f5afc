#include "tests/swarm/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/assert.h"

namespace hushgate::swarm {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kWordBytes = 8;

// SplitMix64's last step.
std::uint64_t body_word(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key * 0x9E37'79B9'7F4A'7C15ULL + index * 0xD1B5'4A32'D192'ED03ULL;
  z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBULL;
  return z ^ (z >> 31U);
}

// Calls `use(i, bytes)` for the bytes from `i` on that lie in one word, until it says false.
template <class Use>
bool each_word(std::uint64_t key, std::uint64_t offset, std::size_t bytes, Use use) {
  static_assert(std::endian::native == std::endian::little);
  for (std::size_t i = 0; i < bytes;) {
    const std::uint64_t skipped = (offset + i) % kWordBytes;
    const std::size_t size = std::min<std::size_t>(kWordBytes - skipped, bytes - i);
    const std::uint64_t word = body_word(key, (offset + i) / kWordBytes) >> (skipped * 8U);
    std::array<char, kWordBytes> text{};
    std::memcpy(text.data(), &word, kWordBytes);
    if (!use(i, std::string_view(text.data(), size))) return false;
    i += size;
  }
  return true;
}

std::string chunks(const Body& body, std::uint64_t key) {
  HG_ASSERT(body.chunk_bytes > 0);
  std::string raw;
  for (std::size_t at = 0; at < body.bytes; at += body.chunk_bytes) {
    const std::size_t size = std::min(body.chunk_bytes, body.bytes - at);
    fmt::format_to(std::back_inserter(raw), "{:x}\r\n", size);
    raw += body_piece(key, at, size);
    raw += "\r\n";
  }
  return raw;
}

std::string_view version_of(const Ask& ask) {
  if (ask.fault == Fault::bad_version) return "HTTP/3.0";
  return ask.http10 || ask.fault == Fault::http10_chunked ? "HTTP/1.0" : "HTTP/1.1";
}

std::string_view host_of(Fault fault) {
  if (fault == Fault::no_host) return "";
  return fault == Fault::two_hosts ? "Host: swarm\r\nHost: other\r\n" : "Host: swarm\r\n";
}

// A line that no head may have.
std::string_view odd_line(Fault fault) {
  switch (fault) {
    case Fault::bare_lf: return "X-Bare: lf\n"sv;
    case Fault::obs_fold: return "X-Fold: one\r\n two\r\n"sv;
    case Fault::nul: return "X-Nul: a\0b\r\n"sv;
    case Fault::space_before_colon: return "X-Space : a\r\n"sv;
    default: return {};
  }
}

std::string plain_framing(const Body& body) {
  switch (body.shape) {
    case BodyShape::length: return fmt::format("Content-Length: {}\r\n", body.bytes);
    case BodyShape::chunked: return "Transfer-Encoding: chunked\r\n";
    default: return {};
  }
}

std::string framing_of(const Ask& ask) {
  const std::size_t bytes = ask.body.bytes;
  switch (ask.fault) {
    case Fault::two_lengths:
      return fmt::format("Content-Length: {}\r\nContent-Length: {}\r\n", bytes, bytes + 1);
    case Fault::two_equal_lengths:
      return fmt::format("Content-Length: {0}\r\nContent-Length: {0}\r\n", bytes);
    case Fault::length_and_chunked:
      return fmt::format("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", bytes);
    case Fault::chunked_not_last: return "Transfer-Encoding: chunked, gzip\r\n";
    case Fault::unknown_coding: return "Transfer-Encoding: gzip\r\n";
    case Fault::http10_chunked:
    case Fault::bad_chunk_size:
    case Fault::chunk_without_lf: return "Transfer-Encoding: chunked\r\n";
    default: return plain_framing(ask.body);
  }
}

std::string head_of(const Ask& ask) {
  if (ask.fault == Fault::garbage) return "\x16\x03\x01 no request line\r\n\r\n";
  std::string head = fmt::format("{} {} {}\r\n{}{}", ask.method, path_of(ask), version_of(ask),
                                 host_of(ask.fault), odd_line(ask.fault));
  if (ask.upgrades) head += "Connection: upgrade\r\nUpgrade: echo\r\n";
  if (ask.says_close) head += "Connection: close\r\n";
  if (ask.expects) head += "Expect: 100-continue\r\n";
  if (ask.keyed) head += "Idempotency-Key: " + key_of(ask) + "\r\n";
  return head + framing_of(ask) + "\r\n";
}

std::string body_of(const Ask& ask) {
  const std::uint64_t key = request_key(ask);
  switch (ask.fault) {
    case Fault::garbage: return {};
    case Fault::bad_chunk_size: return chunks(ask.body, key) + "5g\r\nfifth\r\n0\r\n\r\n";
    case Fault::chunk_without_lf: return chunks(ask.body, key) + "1\rx\r\n0\r\n\r\n";
    case Fault::http10_chunked:
    case Fault::length_and_chunked: return chunks(ask.body, key) + "0\r\n\r\n";
    default: return framed(ask.body, key);
  }
}

std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string path_of(const Ask& ask) { return fmt::format("/u{}/r{}", ask.upstream, ask.id); }

std::optional<std::uint32_t> id_of(std::string_view target) {
  if (!take(target, "/u") || !take_number(target) || !take(target, "/r")) return std::nullopt;
  const std::optional<std::uint32_t> id = take_number(target);
  return target.empty() ? id : std::nullopt;
}

std::string key_of(const Ask& ask) { return fmt::format("key-{}", ask.id); }

RawAsk raw_of(const Ask& ask) {
  RawAsk raw{.bytes = head_of(ask), .head_bytes = 0};
  raw.head_bytes = raw.bytes.size();
  raw.bytes += body_of(ask);
  return raw;
}

char body_byte(std::uint64_t key, std::uint64_t offset) {
  return static_cast<char>(body_word(key, offset / kWordBytes) >> (offset % kWordBytes * 8U));
}

std::string body_piece(std::uint64_t key, std::uint64_t offset, std::size_t bytes) {
  std::string piece(bytes, '\0');
  each_word(key, offset, bytes, [&piece](std::size_t i, std::string_view part) {
    std::memcpy(piece.data() + i, part.data(), part.size());
    return true;
  });
  return piece;
}

bool is_body_piece(std::uint64_t key, std::uint64_t offset, std::string_view bytes) {
  return each_word(key, offset, bytes.size(), [bytes](std::size_t i, std::string_view part) {
    return std::memcmp(bytes.data() + i, part.data(), part.size()) == 0;
  });
}

std::string answer_name(const AnswerName& name) {
  return fmt::format("{}.{}", name.id, name.number);
}

std::optional<AnswerName> answer_named(std::string_view text) {
  const std::optional<std::uint32_t> id = take_number(text);
  if (!id || !take(text, ".")) return std::nullopt;
  const std::optional<std::uint32_t> number = take_number(text);
  if (!number || !text.empty()) return std::nullopt;
  return AnswerName{.id = *id, .number = *number};
}

int status_of(const Answer& answer) {
  if (answer.manner == Answer::Manner::stale_timeout) return 408;
  return answer.manner == Answer::Manner::switches ? 101 : answer.status;
}

bool has_body(const Ask& ask, const Answer& answer) {
  const bool bodyless = ask.method == "HEAD" || answer.status == 204 || answer.status == 304 ||
                        answer.body.shape == BodyShape::none;
  return answer.manner == Answer::Manner::proper && !bodyless;
}

std::string framed(const Body& body, std::uint64_t key) {
  switch (body.shape) {
    case BodyShape::none: return {};
    case BodyShape::length:
    case BodyShape::eof: return body_piece(key, 0, body.bytes);
    case BodyShape::chunked: break;
  }
  return chunks(body, key) + fmt::format("0\r\n{}\r\n", body.trailers ? kTrailer : ""sv);
}

std::size_t payload_within(const Body& body, std::size_t raw) {
  if (body.shape == BodyShape::none) return 0;
  if (body.shape != BodyShape::chunked) return std::min(raw, body.bytes);
  const auto framed_bytes = [](std::size_t size) {
    return fmt::formatted_size("{:x}\r\n", size) + size + 2;
  };
  const std::size_t whole =
      std::min(raw / framed_bytes(body.chunk_bytes), body.bytes / body.chunk_bytes);
  const std::size_t payload = whole * body.chunk_bytes;
  const std::size_t size = std::min(body.chunk_bytes, body.bytes - payload);
  const std::size_t line = framed_bytes(size) - size - 2;
  const std::size_t rest = raw - whole * framed_bytes(body.chunk_bytes);
  return payload + std::min(size, rest - std::min(rest, line));
}

}  // namespace hushgate::swarm
