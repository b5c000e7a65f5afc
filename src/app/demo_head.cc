#include "app/demo_head.h"

#include <fmt/format.h>

#include <ctime>
#include <iterator>
#include <string_view>

namespace hushgate::app {
namespace {

constexpr std::uint16_t kSwitching = 101;
constexpr std::uint16_t kNoContent = 204;

std::string_view reason_of(std::uint16_t status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    case 501: return "Not Implemented";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "";
  }
}

// IMF-fixdate (RFC 9110 section 5.6.7).
std::string http_date(std::int64_t unix_s) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = unix_s;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], utc.tm_year + 1'900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

// Which says where the body ends.
std::string framing_of(const DemoReply& reply, http::Version version) {
  if (reply.status == kSwitching || reply.status == kNoContent) return "";
  if (reply.play == DemoPlay::numbered) {
    return fmt::format("Content-Length: {}\r\n", reply.numbered_bytes);
  }
  if (reply.steps.size() == 1) {
    return fmt::format("Content-Length: {}\r\n", reply.steps.front().text.size());
  }
  return version == http::Version::http11 ? "Transfer-Encoding: chunked\r\n" : "";
}

}  // namespace

void write_demo_head(const DemoReply& reply, http::Version version, DemoKeep keep,
                     std::chrono::seconds idle, std::string& output) {
  const auto out = std::back_inserter(output);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nDate: {}\r\n", reply.status, reason_of(reply.status),
                 http_date(unix_now_s()));
  if (!reply.content_type.empty()) {
    fmt::format_to(out, "Content-Type: {}\r\n", reply.content_type);
  }
  output += reply.fields;
  output += framing_of(reply, version);
  if (reply.status == kSwitching) {
    output += "\r\n";
  } else if (keep == DemoKeep::no) {
    output += "Connection: close\r\n\r\n";
  } else {
    fmt::format_to(out, "Connection: keep-alive\r\nKeep-Alive: timeout={}\r\n\r\n", idle.count());
  }
}

std::uint16_t demo_status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::target_too_long: return 414;
    case ErrorKind::head_too_large: return 431;
    case ErrorKind::unknown_transfer_coding: return 501;
    case ErrorKind::version_not_supported: return 505;
    default: return 400;
  }
}

std::int64_t unix_now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace hushgate::app
