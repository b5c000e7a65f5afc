// Chunked bodies as bytes: split-invariance, the witness, and that what is written anew decodes to
// the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "http/rewrite.h"
#include "message.h"
#include "witness.h"

namespace hushgate::fuzz {
namespace {

void compare(std::string_view bytes, const Body& body) {
  if (body.failed || beast_judges_trailers(body.trailers.fields)) return;
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const Witnessed seen = Witness<true>::read(head + std::string(bytes), {});
  require(!seen.failed && seen.headed && seen.chunked);
  require(seen.complete == body.complete && seen.body == body.data);
  if (body.complete) require(seen.consumed == head.size() + body.consumed);
}

void check_written(const Body& body) {
  std::string written;
  for (std::string_view rest = body.data; !rest.empty();) {
    const std::string_view piece = rest.substr(0, 1 + rest.size() / 2);
    char header[http::kMaxChunkHeaderBytes];
    written.append(header, http::write_chunk_header(piece.size(), header));
    written.append(piece).append("\r\n");
    rest.remove_prefix(piece.size());
  }
  http::write_last_chunk(written, body.trailers.fields);
  const Body again = decode_both_ways(written, {1 << 20, 1000});
  require(again.complete && again.consumed == written.size() && again.data == body.data);
  require(!beast_judges_trailers(again.trailers.fields));
  compare(written, again);
}

void run(std::string_view bytes) {
  const Body body = decode_both_ways(bytes, {256, 6});
  compare(bytes, body);
  if (body.complete) check_written(body);
}

}  // namespace
}  // namespace hushgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hushgate::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
