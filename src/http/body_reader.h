// The payload of a message's body, found in bytes that come in pieces, whatever frames it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "http/chunked.h"
#include "http/framing.h"

namespace hushgate::http {

// Finds the payload in the bytes of a body. Pure but for the trailers it keeps.
class BodyReader {
 public:
  void begin(Framing framing, TrailerBounds bounds);

  struct Piece {
    Bytes data{};              // payload, a view into the input
    std::size_t consumed = 0;  // of the input, `data` included
    ErrorKind error =
        ErrorKind::none;  // bad_request or head_too_large: as a request's; see as_upstream()
  };
  // The next piece. Consumes nothing once ended(); needs more when it returns no data, no error and
  // has not ended. After an error everything is consumed and means nothing.
  Piece read(Bytes in);

  bool ended() const { return ended_; }
  // The input's end is the body's (until_eof); for all others it is a cut.
  bool ends_with_eof() const { return framing_.kind == FramingKind::until_eof; }
  void end_of_input() { ended_ = true; }
  // Bytes that are still to come, if the framing tells.
  std::optional<std::uint64_t> left() const;
  const FieldList& trailers() const { return trailers_.fields; }

 private:
  Piece read_chunked(Bytes in);

  Framing framing_;
  std::uint64_t left_ = 0;
  bool ended_ = true;
  std::optional<ChunkedDecoder> decoder_;
  Trailers trailers_;
};

}  // namespace hushgate::http
