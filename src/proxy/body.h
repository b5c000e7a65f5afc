// Message bodies on their way through: read by the framing they came with, written by the one they
// leave with.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "http/chunked.h"
#include "http/framing.h"
#include "proxy/out_buffer.h"

namespace hushgate::proxy {

// Finds the payload in the bytes of a body. Pure but for the trailers it keeps.
class BodyReader {
 public:
  void begin(http::Framing framing, http::TrailerBounds bounds);

  struct Piece {
    Bytes data{};              // payload, a view into the input
    std::size_t consumed = 0;  // of the input, `data` included
    ErrorKind error =
        ErrorKind::none;  // bad_request or head_too_large: as a request's; see http::as_upstream()
  };
  // The next piece. Consumes nothing once ended(); needs more when it returns no data, no error and
  // has not ended. After an error everything is consumed and means nothing.
  Piece read(Bytes in);

  bool ended() const { return ended_; }
  // The input's end is the body's (until_eof); for all others it is a cut.
  bool ends_with_eof() const { return framing_.kind == http::FramingKind::until_eof; }
  void end_of_input() { ended_ = true; }
  // Bytes that are still to come, if the framing tells.
  std::optional<std::uint64_t> left() const;
  const http::FieldList& trailers() const { return trailers_.fields; }

 private:
  Piece read_chunked(Bytes in);

  http::Framing framing_;
  std::uint64_t left_ = 0;
  bool ended_ = true;
  std::optional<http::ChunkedDecoder> decoder_;
  http::Trailers trailers_;
};

struct Relayed {
  std::size_t consumed = 0;           // of the input
  std::uint64_t payload = 0;          // body bytes that were found in it
  ErrorKind error = ErrorKind::none;  // the input is no such body
  bool failed = false;                // the stream to write to is dead
};

// Moves what `in` holds of the body into `out`: chunked as one chunk per call and bunch of pieces,
// everything else as it is. At the body's end a chunked one is terminated, with its trailers.
Relayed relay_body(Bytes in, BodyReader& reader, http::FramingKind as, OutBuffer& out,
                   io::Stream& stream);
// The same for a body that nobody wants.
Relayed discard_body(Bytes in, BodyReader& reader);
// For a body that ended with its input's end.
Result<void> finish_body(const BodyReader& reader, http::FramingKind as, OutBuffer& out,
                         io::Stream& stream);

}  // namespace hushgate::proxy
