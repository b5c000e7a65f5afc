#include "app/demo_reply.h"

#include <fmt/format.h>

#include <utility>

namespace hushgate::app {
namespace {

constexpr std::size_t kMaxSecondsDecimals = 3;

std::string_view error_type(std::uint16_t status) {
  return status == 404 ? "not_found_error" : "invalid_request_error";
}

}  // namespace

DemoReply text_reply(std::uint16_t status, std::string text) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .steps = {{.text = std::move(text)}}};
}

DemoReply json_reply(std::uint16_t status, std::string json) {
  json += '\n';
  return {
      .status = status, .content_type = "application/json", .steps = {{.text = std::move(json)}}};
}

DemoReply error_reply(std::uint16_t status, std::string_view message) {
  return json_reply(status, fmt::format(R"({{"error":{{"message":"{}","type":"{}",)"
                                        R"("param":null,"code":null}},"type":"error"}})",
                                        message, error_type(status)));
}

DemoReply method_refused(std::string_view allowed) {
  DemoReply reply = error_reply(405, "This method is not allowed here.");
  reply.fields = fmt::format("Allow: {}\r\n", allowed);
  return reply;
}

bool is_read(http::Method method) {
  return method == http::Method::get || method == http::Method::head;
}

std::optional<std::string_view> query_value(std::string_view query, std::string_view name) {
  if (query.starts_with('?')) query.remove_prefix(1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) == name) {
      return equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    }
    query.remove_prefix(pair.size() < query.size() ? pair.size() + 1 : query.size());
  }
  return std::nullopt;
}

std::optional<Ms> parse_seconds(std::string_view text) {
  constexpr std::uint64_t kMaxSeconds = kMaxDemoSilence.count() / 1'000;
  const std::size_t point = text.find('.');
  const auto whole = http::parse_decimal(text.substr(0, point), kMaxSeconds);
  if (!whole) return std::nullopt;
  std::uint64_t ms = *whole * 1'000;
  if (point != std::string_view::npos) {
    std::string decimals(text.substr(point + 1));
    if (decimals.empty() || decimals.size() > kMaxSecondsDecimals) return std::nullopt;
    decimals.resize(kMaxSecondsDecimals, '0');
    const auto fraction = http::parse_decimal(decimals, 999);
    if (!fraction) return std::nullopt;
    ms += *fraction;
  }
  const Ms silence{static_cast<std::int64_t>(ms)};
  if (silence > kMaxDemoSilence) return std::nullopt;
  return silence;
}

}  // namespace hushgate::app
