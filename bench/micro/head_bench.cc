// Heads: found, parsed and written anew; beside other parsers reading the same bytes.
#include <benchmark/benchmark.h>
#include <http_parser.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "bench/micro/heads.h"
#include "http/parser.h"
#include "http/rewrite.h"
#include "http/scanner.h"

namespace hushgate::bench {
namespace {

void counts(benchmark::State& state, std::string_view head) {
  state.SetBytesProcessed(static_cast<std::int64_t>(head.size()) *
                          static_cast<std::int64_t>(state.iterations()));
}

// As in a session: the head's end is found, its lines are parsed into a head that is reused.
void parse_hushgate(benchmark::State& state, std::string_view bytes) {
  http::HeadScanner scanner(http::ScanRole::request, http::ScanBounds::of(Limits{}));
  http::RequestHead head;
  for (auto _ : state) {
    scanner.reset();
    const http::Scan scan = scanner.scan(bytes);
    head.clear();
    const bool good = http::parse_request_head(scan.head(bytes), head).has_value();
    benchmark::DoNotOptimize(good);
    benchmark::DoNotOptimize(head);
  }
  counts(state, bytes);
}

void parse_beast(benchmark::State& state, std::string_view bytes) {
  namespace beast = boost::beast::http;
  for (auto _ : state) {
    beast::request_parser<beast::empty_body> parser;
    boost::system::error_code error;
    const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    benchmark::DoNotOptimize(used);
    if (error) state.SkipWithError("refused");
  }
  counts(state, bytes);
}

// Callbacks that only note where the parts are.
int note(http_parser* parser, const char* at, std::size_t) {
  parser->data = const_cast<char*>(at);
  return 0;
}

void parse_http_parser(benchmark::State& state, std::string_view bytes) {
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_url = settings.on_header_field = settings.on_header_value = note;
  http_parser parser;
  for (auto _ : state) {
    http_parser_init(&parser, HTTP_REQUEST);
    const std::size_t used = http_parser_execute(&parser, &settings, bytes.data(), bytes.size());
    benchmark::DoNotOptimize(used);
    if (used != bytes.size()) state.SkipWithError("refused");
  }
  counts(state, bytes);
}

void write_request(benchmark::State& state, std::string_view bytes) {
  http::RequestHead head;
  if (!http::parse_request_head(bytes, head)) return state.SkipWithError("refused");
  const http::RequestRewrite rewrite{.host = "127.0.0.1:3000",
                                     .client_address = "192.0.2.7",
                                     .forwarded_proto = "http",
                                     .forwarded_host = head.authority,
                                     .via_token = "hushgate-4711",
                                     .request_id = "0123456789abcdef0123456789abcdef"};
  std::string out;
  for (auto _ : state) {
    out.clear();
    http::write_request_head(out, head, rewrite);
    benchmark::DoNotOptimize(out.data());
  }
  counts(state, bytes);
}

void write_response(benchmark::State& state, std::string_view bytes) {
  http::ResponseHead head;
  if (!http::parse_response_head(bytes, head)) return state.SkipWithError("refused");
  const http::ResponseRewrite rewrite{.framing = {http::FramingKind::length, 90},
                                      .via_token = "hushgate-4711",
                                      .request_id = "0123456789abcdef0123456789abcdef"};
  std::string out;
  for (auto _ : state) {
    out.clear();
    http::write_response_head(out, head, rewrite);
    benchmark::DoNotOptimize(out.data());
  }
  counts(state, bytes);
}

void parse_response(benchmark::State& state, std::string_view bytes) {
  http::HeadScanner scanner(http::ScanRole::response, http::ScanBounds::of(Limits{}));
  http::ResponseHead head;
  for (auto _ : state) {
    scanner.reset();
    const http::Scan scan = scanner.scan(bytes);
    head.clear();
    const bool good = http::parse_response_head(scan.head(bytes), head).has_value();
    benchmark::DoNotOptimize(good);
    benchmark::DoNotOptimize(head);
  }
  counts(state, bytes);
}

BENCHMARK_CAPTURE(parse_hushgate, small, kSmallRequest)->Name("request head, small/hushgate");
BENCHMARK_CAPTURE(parse_beast, small, kSmallRequest)->Name("request head, small/Boost.Beast");
BENCHMARK_CAPTURE(parse_http_parser, small, kSmallRequest)->Name("request head, small/http-parser");
BENCHMARK_CAPTURE(parse_hushgate, browser, kBrowserRequest)->Name("request head, browser/hushgate");
BENCHMARK_CAPTURE(parse_beast, browser, kBrowserRequest)->Name("request head, browser/Boost.Beast");
BENCHMARK_CAPTURE(parse_http_parser, browser, kBrowserRequest)
    ->Name("request head, browser/http-parser");
BENCHMARK_CAPTURE(parse_response, usual, kResponse)->Name("response head/hushgate");
BENCHMARK_CAPTURE(write_request, small, kSmallRequest)->Name("rewrite request, small/hushgate");
BENCHMARK_CAPTURE(write_request, browser, kBrowserRequest)
    ->Name("rewrite request, browser/hushgate");
BENCHMARK_CAPTURE(write_response, usual, kResponse)->Name("rewrite response/hushgate");

}  // namespace
}  // namespace hushgate::bench
