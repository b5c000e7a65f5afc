// Reading a whole message with hushgate's own layer, for the fuzz targets: head, framing, body,
// trailers, in pieces of a given size, so that two sizes can be compared.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "http/chunked.h"
#include "http/framing.h"
#include "http/parser.h"
#include "http/scanner.h"
#include "witness.h"

namespace hushgate::fuzz {

// Small, so that the fuzzer meets them.
inline constexpr http::ScanBounds kBounds{512, 2048, 24};

inline http::Scan scan_in_pieces(http::ScanRole role, std::string_view bytes, std::size_t piece) {
  http::HeadScanner scanner(role, kBounds);
  http::Scan scan;
  for (std::size_t end = 0; end < bytes.size() && scan.event == http::ScanEvent::need_more;) {
    end = bytes.size() - end > piece ? end + piece : bytes.size();
    scan = scanner.scan(bytes.substr(0, end));
  }
  return scan;
}

// The verdict at once, which must be the verdict byte by byte.
inline http::Scan scan_both_ways(http::ScanRole role, std::string_view bytes) {
  const http::Scan at_once = scan_in_pieces(role, bytes, bytes.size());
  const http::Scan dripped = scan_in_pieces(role, bytes, 1);
  require(at_once.event == dripped.event && at_once.error == dripped.error);
  require(at_once.length == dripped.length && at_once.skipped == dripped.skipped);
  return at_once;
}

struct Body {
  bool failed = false;
  bool complete = false;
  ErrorKind error = ErrorKind::none;
  std::string data;
  std::size_t consumed = 0;
  http::Trailers trailers;
};

inline Body decode_in_pieces(std::string_view bytes, std::size_t piece,
                             http::TrailerBounds bounds) {
  Body body;
  http::ChunkedDecoder decoder(bounds);
  std::size_t end = 0;
  while (body.consumed < bytes.size()) {
    if (end == body.consumed) end = bytes.size() - end > piece ? end + piece : bytes.size();
    const std::string_view rest = bytes.substr(body.consumed, end - body.consumed);
    const http::ChunkedStep step = decoder.decode(as_bytes(rest), body.trailers);
    require(step.consumed <= rest.size());
    body.consumed += step.consumed;
    body.data += as_text(step.data);
    body.complete = step.event == http::ChunkedEvent::done;
    body.failed = step.event == http::ChunkedEvent::error;
    body.error = step.error;
    if (body.complete || body.failed) break;
    require(step.event == http::ChunkedEvent::data || step.consumed == rest.size());
  }
  return body;
}

inline bool same(const http::FieldList& a, const http::FieldList& b) { return a == b; }

inline Body decode_both_ways(std::string_view bytes, http::TrailerBounds bounds) {
  Body at_once = decode_in_pieces(bytes, bytes.size(), bounds);
  for (const std::size_t piece : {1u, 3u}) {
    const Body dripped = decode_in_pieces(bytes, piece, bounds);
    require(at_once.failed == dripped.failed && at_once.complete == dripped.complete);
    require(at_once.error == dripped.error && at_once.data == dripped.data);
    if (at_once.complete) require(at_once.consumed == dripped.consumed);
    if (at_once.complete) require(same(at_once.trailers.fields, dripped.trailers.fields));
  }
  return at_once;
}

// The body of a message whose head has ended before `bytes`.
inline Body read_body(const http::Framing& framing, std::string_view bytes, std::size_t head_bytes,
                      std::size_t head_fields) {
  Body body;
  switch (framing.kind) {
    case http::FramingKind::none: body.complete = true; break;
    case http::FramingKind::length: {
      body.consumed = framing.length < bytes.size() ? framing.length : bytes.size();
      body.complete = body.consumed == framing.length;
      body.data = bytes.substr(0, body.consumed);
      break;
    }
    case http::FramingKind::until_eof:
    case http::FramingKind::tunnel:
      body.data = bytes;
      body.consumed = bytes.size();
      body.complete = true;
      break;
    case http::FramingKind::chunked:
      return decode_both_ways(
          bytes, {kBounds.max_head_bytes - head_bytes, kBounds.max_fields - head_fields});
  }
  return body;
}

}  // namespace hushgate::fuzz
