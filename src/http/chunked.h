// The chunked transfer coding (RFC 9112 section 7.1): an incremental decoder that never copies
// data, and the encoder's few bytes. Chunk extensions are checked and dropped. The verdict does not
// depend on how the bytes were cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "http/fields.h"
#include "http/scanner.h"

namespace hushgate::http {

// A trailer section and where its bytes live. `fields` is valid from ChunkedEvent::done on, and
// points into `text`.
struct Trailers {
  std::string text;
  FieldList fields;

  void clear() {
    text.clear();
    fields.clear();
  }
};

// What the head has left of max_header_bytes and max_headers for the trailer section.
struct TrailerBounds {
  std::size_t bytes;
  std::size_t fields;
};

enum class ChunkedEvent : std::uint8_t {
  need_more,  // everything was consumed
  data,       // `data` is a piece of the body; more may be in what was not consumed
  done,       // the trailer section is complete; what was not consumed is another message's
  error,      // `error` is valid; terminal
};

struct ChunkedStep {
  ChunkedEvent event = ChunkedEvent::need_more;
  ErrorKind error =
      ErrorKind::none;       // bad_request, or head_too_large (trailers); see as_upstream()
  std::size_t consumed = 0;  // bytes of the input, `data` included
  Bytes data;                // a view into the input, never empty with ChunkedEvent::data
};

class ChunkedDecoder {
 public:
  explicit ChunkedDecoder(TrailerBounds bounds)
      : trailer_scan_(ScanRole::trailers, {0, bounds.bytes, bounds.fields}) {}

  // Consumes up to the end of the first piece of data, or its chunk's. Not called after `done` or
  // `error`. `trailers` is the same object in every call, cleared by the caller before the first.
  ChunkedStep decode(Bytes in, Trailers& trailers);

  bool done() const { return state_ == State::done; }

  // Bytes of the current chunk's data that have not come yet.
  std::uint64_t left_in_chunk() const { return state_ == State::data ? size_ : 0; }

 private:
  enum class State : std::uint8_t {
    size_first,       // before the first hex digit of a chunk line
    size,             // after at least one
    ext_blank,        // blanks before ';'
    ext_name_first,   // after ';', blanks allowed
    ext_name,         // in an extension's name
    ext_name_blank,   // blanks after it
    ext_value_first,  // after '=', blanks allowed
    ext_token,        // in an unquoted value
    ext_quoted,       // in a quoted value
    ext_escape,       // behind its backslash
    ext_quoted_end,   // behind its closing quote, blanks allowed
    line_lf,          // CR of the chunk line seen
    data,             // size_ bytes of data are still to come (> 0)
    data_cr,          // the CRLF behind the data
    data_lf,
    trailer_first,  // at the start of the trailer section
    trailer_lf,     // CR there seen
    trailers,       // in field lines; they are collected in Trailers::text
    done,           // terminal
    failed,         // terminal
  };

  State after_size(char c);
  State on_line_byte(char c);
  ChunkedStep take_trailers(std::string_view text, std::size_t at, Trailers& trailers);
  ChunkedStep fail(ErrorKind error, std::size_t consumed);

  HeadScanner trailer_scan_;
  std::uint64_t size_ = 0;        // of the chunk; in State::data what is left of it
  std::uint16_t line_bytes_ = 0;  // of the chunk line so far
  std::uint8_t digits_ = 0;
  State state_ = State::size_first;
};

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";  // without trailers
inline constexpr std::size_t kMaxChunkHeaderBytes = 18;      // 16 digits and CRLF

// The chunk line of a chunk of `size` > 0 bytes; returns how many bytes were written. CRLF follows
// the data.
std::size_t write_chunk_header(std::uint64_t size, char* out);

}  // namespace hushgate::http
