// The chunked coding: a body of 64 KiB in chunks of one size, scanned and not copied.
#include <benchmark/benchmark.h>
#include <http_parser.h>

#include <array>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "http/chunked.h"

namespace hushgate::bench {
namespace {

constexpr std::size_t kBodyBytes = 65'536;

std::string body_of(std::size_t chunk_bytes) {
  std::string body;
  std::array<char, http::kMaxChunkHeaderBytes> line{};
  for (std::size_t done = 0; done < kBodyBytes; done += chunk_bytes) {
    body.append(line.data(), http::write_chunk_header(chunk_bytes, line.data()));
    body.append(chunk_bytes, 'x');
    body += "\r\n";
  }
  return body + std::string(http::kLastChunk);
}

void counts(benchmark::State& state, const std::string& body) {
  state.SetBytesProcessed(static_cast<std::int64_t>(body.size()) *
                          static_cast<std::int64_t>(state.iterations()));
}

void scan_hushgate(benchmark::State& state) {
  const std::string body = body_of(static_cast<std::size_t>(state.range(0)));
  http::Trailers trailers;
  for (auto _ : state) {
    http::ChunkedDecoder decoder({65'536, 128});
    Bytes left = as_bytes(body);
    trailers.clear();
    for (;;) {
      const http::ChunkedStep step = decoder.decode(left, trailers);
      left = left.subspan(step.consumed);
      benchmark::DoNotOptimize(step);
      if (step.event == http::ChunkedEvent::done) break;
      if (step.event != http::ChunkedEvent::data) return state.SkipWithError("refused");
    }
  }
  counts(state, body);
}

constexpr std::string_view kHead =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

int take(http_parser* parser, const char* at, std::size_t) {
  parser->data = const_cast<char*>(at);
  return 0;
}

void scan_http_parser(benchmark::State& state) {
  const std::string whole = std::string(kHead) + body_of(static_cast<std::size_t>(state.range(0)));
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_body = take;
  http_parser parser;
  for (auto _ : state) {
    http_parser_init(&parser, HTTP_REQUEST);
    const std::size_t used = http_parser_execute(&parser, &settings, whole.data(), whole.size());
    benchmark::DoNotOptimize(used);
    if (used != whole.size()) state.SkipWithError("refused");
  }
  counts(state, whole);
}

BENCHMARK(scan_hushgate)->Name("64 KiB in chunks/hushgate")->Arg(64)->Arg(1'024)->Arg(16'384);
BENCHMARK(scan_http_parser)->Name("64 KiB in chunks/http-parser")->Arg(64)->Arg(1'024)->Arg(16'384);

}  // namespace
}  // namespace hushgate::bench
