#include "proxy/errors_grpc.h"

#include "http/text.h"

namespace hushgate::proxy {

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (content_type.size() < kType.size()) return false;
  if (!http::equals_lower(content_type.substr(0, kType.size()), kType)) return false;
  if (content_type.size() == kType.size()) return true;
  constexpr std::string_view kEnds = "+; \t";
  return kEnds.contains(content_type[kType.size()]);
}

int grpc_status(std::uint16_t http_status) {
  constexpr int kUnknown = 2, kPermissionDenied = 7, kUnimplemented = 12, kInternal = 13,
                kUnavailable = 14, kUnauthenticated = 16;
  switch (http_status) {
    case 400: return kInternal;
    case 401: return kUnauthenticated;
    case 403: return kPermissionDenied;
    case 404: return kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504: return kUnavailable;
    default: return kUnknown;
  }
}

void append_grpc_message(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xFU];
    }
  }
}

}  // namespace hushgate::proxy
