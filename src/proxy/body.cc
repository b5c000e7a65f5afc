#include "proxy/body.h"

#include <array>

#include "http/chunked.h"
#include "http/rewrite.h"

namespace hushgate::proxy {

using http::FramingKind;

namespace {

constexpr std::string_view kCrlf = "\r\n";
constexpr std::string_view kCrlfAndLastChunk = "\r\n0\r\n\r\n";

// Room for a chunk's CRLF behind the pieces.
struct Pieces {
  std::array<Bytes, OutBuffer::kMaxPieces> items;
  std::size_t count = 0;
  std::uint64_t payload = 0;

  bool full() const { return count == items.size() - 1; }
  void add(Bytes piece) { items[count++] = piece; }
};

// Gathers payload until the input is used up, the pieces are full, or the body has ended or is
// broken.
ErrorKind gather(Bytes in, BodyReader& reader, Pieces& pieces, std::size_t& consumed) {
  while (consumed < in.size() && !reader.ended() && !pieces.full()) {
    const BodyReader::Piece piece = reader.read(in.subspan(consumed));
    consumed += piece.consumed;
    if (piece.error != ErrorKind::none) return piece.error;
    if (piece.data.empty()) continue;
    pieces.add(piece.data);
    pieces.payload += piece.data.size();
  }
  return ErrorKind::none;
}

// `with_end`: the body ends with these pieces, without trailers.
Result<void> write_pieces(Pieces& pieces, FramingKind as, bool with_end, OutBuffer& out,
                          io::Stream& stream) {
  if (as == FramingKind::chunked && pieces.payload > 0) {
    char line[http::kMaxChunkHeaderBytes];
    out.tail().append(line, http::write_chunk_header(pieces.payload, line));
    pieces.add(as_bytes(with_end ? kCrlfAndLastChunk : kCrlf));
  }
  return out.send(stream, {pieces.items.data(), pieces.count});
}

}  // namespace

Relayed relay_body(Bytes in, BodyReader& reader, FramingKind as, OutBuffer& out,
                   io::Stream& stream) {
  Relayed relayed;
  bool end_written = false;
  while (relayed.consumed < in.size() && !reader.ended()) {
    Pieces pieces;
    relayed.error = gather(in, reader, pieces, relayed.consumed);
    relayed.payload += pieces.payload;
    end_written = reader.ended() && pieces.payload > 0 && reader.trailers().empty();
    if (!write_pieces(pieces, as, end_written, out, stream)) relayed.failed = true;
    if (relayed.failed || relayed.error != ErrorKind::none) return relayed;
  }
  if (reader.ended() && !end_written && !finish_body(reader, as, out, stream))
    relayed.failed = true;
  return relayed;
}

Relayed discard_body(Bytes in, BodyReader& reader) {
  Relayed relayed;
  while (relayed.consumed < in.size() && !reader.ended() && relayed.error == ErrorKind::none) {
    const BodyReader::Piece piece = reader.read(in.subspan(relayed.consumed));
    relayed.consumed += piece.consumed;
    relayed.payload += piece.data.size();
    relayed.error = piece.error;
  }
  return relayed;
}

Result<void> finish_body(const BodyReader& reader, FramingKind as, OutBuffer& out,
                         io::Stream& stream) {
  if (as != FramingKind::chunked) return {};
  http::write_last_chunk(out.tail(), reader.trailers());
  return out.flush(stream);
}

}  // namespace hushgate::proxy
