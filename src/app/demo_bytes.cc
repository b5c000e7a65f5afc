#include "app/demo_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hushgate::app {
namespace {

std::array<char, kDemoLineBytes> line_at(std::uint64_t offset) {
  std::array<char, kDemoLineBytes> line;
  line.back() = '\n';
  for (std::size_t i = kDemoLineBytes - 1; i-- > 0; offset /= 10) {
    line[i] = static_cast<char>('0' + offset % 10);
  }
  return line;
}

}  // namespace

DemoReply bytes_reply(const DemoRequest& request, std::string_view rest) {
  if (!is_read(request.head.method)) return method_refused("GET, HEAD");
  const auto count = http::parse_decimal(rest, kMaxDemoBytes);
  if (!count) return error_reply(400, "/bytes/ wants a number of bytes, 2^40 at most.");
  return {.content_type = "text/plain", .play = DemoPlay::numbered, .numbered_bytes = *count};
}

DemoReply upload_reply(const DemoRequest& request) {
  const http::Method method = request.head.method;
  if (method != http::Method::put && method != http::Method::post) {
    return method_refused("PUT, POST");
  }
  return json_reply(
      200, fmt::format(R"({{"bytes":{},"sha1":"{}"}})", request.body_bytes, hex_of(request.sha1)));
}

void write_numbered(std::uint64_t offset, std::size_t count, std::string& output) {
  while (count > 0) {
    const std::size_t within = offset % kDemoLineBytes;
    const std::size_t here = std::min(kDemoLineBytes - within, count);
    const auto line = line_at(offset - within);
    output.append(line.data() + within, here);
    offset += here;
    count -= here;
  }
}

}  // namespace hushgate::app
