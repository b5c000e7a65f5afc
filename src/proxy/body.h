// Message bodies on their way through: read by the framing they came with, written by the one they
// leave with.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"
#include "http/body_reader.h"
#include "http/framing.h"
#include "proxy/out_buffer.h"

namespace hushgate::proxy {

using http::BodyReader;

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
