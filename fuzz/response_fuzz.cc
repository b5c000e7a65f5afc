// Responses as bytes, the first byte choosing the request's method: split-invariance, the witness,
// and that what is written for the client is read back as the same response.
#include <cstdint>
#include <string>
#include <string_view>

#include "http/rewrite.h"
#include "message.h"
#include "witness.h"

namespace hushgate::fuzz {
namespace {

bool beast_reads_status_line(std::string_view head) {
  return (head[7] == '0' || head[7] == '1') && head[12] == ' ';
}

void compare(std::string_view bytes, const http::Scan& scan, http::Method method,
             const http::ResponseHead& head, const http::Framing& framing, const Body& body) {
  if (framing.kind == http::FramingKind::tunnel) return;
  if (!beast_reads_status_line(bytes) || beast_refuses_connection(head.fields)) return;
  if (body.failed || beast_judges_trailers(body.trailers.fields)) return;
  const bool until_eof = framing.kind == http::FramingKind::until_eof;
  const Witnessed seen =
      Witness<false>::read(bytes, {.skip_body = method == http::Method::head, .at_end = until_eof});
  require(!seen.failed && seen.headed);
  require(seen.status == head.status);
  require(seen.version == (head.version == http::Version::http10 ? 10 : 11));
  require(same_fields(head.fields, seen));
  require(seen.complete == body.complete);
  require(seen.body == body.data);
  if (body.complete) require(seen.consumed == scan.length + body.consumed);
}

void check_written(const std::string& written, http::Method method,
                   const http::ResponseHead& before, const http::Framing& framing) {
  const http::ScanBounds wide{1 << 20, 1 << 20, 1000};
  http::HeadScanner scanner(http::ScanRole::response, wide);
  const http::Scan scan = scanner.scan(written);
  require(scan.event == http::ScanEvent::complete && scan.length == written.size());
  http::ResponseHead after;
  require(http::parse_response_head(written, after).has_value());
  require(after.status == before.status && after.reason == before.reason);
  const auto framed = http::response_framing(method, after);
  require(framed.has_value() && *framed == framing);
  require(http::via_names(after.fields, "witness-1"));
  std::size_t at = 0;
  for (const http::Field& field : before.fields) {
    if (field.id != http::FieldId::other || field.named_by_connection) continue;
    while (at < after.fields.size() && after.fields[at].id != http::FieldId::other) ++at;
    require(at < after.fields.size());
    require(after.fields[at].name == field.name && after.fields[at].value == field.value);
    ++at;
  }
  const Witnessed seen = Witness<false>::read(written, {});
  require(!seen.failed && seen.headed && seen.status == before.status);
}

void run(http::Method method, std::string_view bytes) {
  const http::Scan scan = scan_both_ways(http::ScanRole::response, bytes);
  if (scan.event != http::ScanEvent::complete) return;
  http::ResponseHead head;
  if (!http::parse_response_head(scan.head(bytes), head)) return;
  const auto framing = http::response_framing(method, head);
  if (!framing) return;
  const Body body = read_body(*framing, bytes.substr(scan.length), scan.length, head.fields.size());
  compare(bytes, scan, method, head, *framing, body);
  http::ResponseRewrite rewrite;
  rewrite.framing = *framing;
  rewrite.connection = framing->kind == http::FramingKind::tunnel ? http::ConnectionField::upgrade
                                                                  : http::ConnectionField::close;
  rewrite.via_token = "witness-1";
  rewrite.request_id = "id-1";
  std::string written;
  http::write_response_head(written, head, rewrite);
  check_written(written, method, head, *framing);
}

}  // namespace
}  // namespace hushgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using hushgate::http::Method;
  if (size == 0) return 0;
  constexpr Method kMethods[] = {Method::get, Method::head, Method::connect, Method::post};
  hushgate::fuzz::run(kMethods[data[0] % 4], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
