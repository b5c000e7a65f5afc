// Requests as bytes: split-invariance, the witness, and that what is written for the upstream is
// read back as the same request, by us and by the witness.
#include <cstdint>
#include <string>
#include <string_view>

#include "http/rewrite.h"
#include "message.h"
#include "witness.h"

namespace hushgate::fuzz {
namespace {

int witnessed_version(http::Version version) { return version == http::Version::http10 ? 10 : 11; }

bool has_late_minor_version(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  return line.back() != '0' && line.back() != '1';
}

void compare(std::string_view bytes, const http::Scan& scan, const http::RequestHead& head,
             const Body& body) {
  const std::string_view head_bytes = scan.head(bytes);
  if (has_late_minor_version(head_bytes)) return;
  if (beast_refuses_connection(head.fields)) return;
  if (body.failed || beast_judges_trailers(body.trailers.fields)) return;
  const Witnessed seen = Witness<true>::read(bytes.substr(scan.skipped), {});
  require(!seen.failed && seen.headed);
  require(seen.method == head.method_text && seen.target == head.target);
  require(seen.version == witnessed_version(head.version));
  require(same_fields(head.fields, seen));
  require(seen.chunked == (head.framing.coding == http::Coding::chunked));
  require(seen.complete == body.complete);
  require(seen.body == body.data);
  if (body.complete) require(scan.skipped + seen.consumed == scan.length + body.consumed);
}

http::RequestRewrite rewrite_of(const http::RequestHead& head, const http::Framing& framing,
                                http::Trust trust) {
  http::RequestRewrite rewrite;
  rewrite.path_prefix = "/prefix";
  rewrite.host = "upstream:8080";
  rewrite.framing = framing;
  rewrite.connection =
      head.wants_upgrade ? http::ConnectionField::upgrade : http::ConnectionField::close;
  rewrite.trust = trust;
  rewrite.client_address = "192.0.2.1";
  rewrite.forwarded_proto = "http";
  rewrite.forwarded_host = head.authority;
  rewrite.via_token = "witness-1";
  rewrite.request_id = "id-1";
  return rewrite;
}

std::size_t count(const http::FieldList& fields, http::FieldId id) {
  std::size_t found = 0;
  for (const http::Field& field : fields) found += field.id == id ? 1 : 0;
  return found;
}

void check_written(const std::string& written, const http::RequestHead& before,
                   const http::Framing& framing) {
  const http::ScanBounds wide{1 << 20, 1 << 20, 1000};
  http::HeadScanner scanner(http::ScanRole::request, wide);
  const http::Scan scan = scanner.scan(written);
  require(scan.event == http::ScanEvent::complete && scan.length == written.size());
  http::RequestHead after;
  require(http::parse_request_head(written, after).has_value());
  const auto framed = http::request_framing(after);
  require(framed.has_value() && *framed == framing);
  require(after.method_text == before.method_text && after.query == before.query);
  const bool prefixed =
      before.form == http::TargetForm::origin || before.form == http::TargetForm::absolute;
  require(after.path == (prefixed ? "/prefix" + std::string(before.path) : before.path));
  require(after.expect_continue == before.expect_continue);
  require(after.te_trailers == before.te_trailers);
  require(after.wants_upgrade == before.wants_upgrade);
  require(http::via_names(after.fields, "witness-1"));
  for (const auto id : {http::FieldId::host, http::FieldId::via, http::FieldId::x_forwarded_for,
                        http::FieldId::x_request_id}) {
    require(count(after.fields, id) == 1);
  }
  for (const auto id : {http::FieldId::http2_settings, http::FieldId::keep_alive,
                        http::FieldId::proxy_connection, http::FieldId::proxy_authorization}) {
    require(count(after.fields, id) == 0);
  }
  if (before.max_forwards) require(after.max_forwards == *before.max_forwards - 1);
  // What is nobody's business passes in order.
  std::size_t at = 0;
  for (const http::Field& field : before.fields) {
    if (field.id != http::FieldId::other || field.named_by_connection) continue;
    while (at < after.fields.size() && after.fields[at].id != http::FieldId::other) ++at;
    require(at < after.fields.size());
    require(after.fields[at].name == field.name && after.fields[at].value == field.value);
    ++at;
  }
  const Witnessed seen = Witness<true>::read(written, {});
  require(!seen.failed && seen.headed && seen.target == after.target);
  require(seen.chunked == (framing.kind == http::FramingKind::chunked));
}

void run(std::string_view bytes) {
  const http::Scan scan = scan_both_ways(http::ScanRole::request, bytes);
  if (scan.event != http::ScanEvent::complete) return;
  http::RequestHead head;
  if (!http::parse_request_head(scan.head(bytes), head)) return;
  const auto framing = http::request_framing(head);
  if (!framing) return;
  const Body body = read_body(*framing, bytes.substr(scan.length), scan.length - scan.skipped,
                              head.fields.size());
  compare(bytes, scan, head, body);
  if (head.max_forwards == 0u) return;
  for (const http::Trust trust : {http::Trust::trusted, http::Trust::untrusted}) {
    std::string written;
    http::write_request_head(written, head, rewrite_of(head, *framing, trust));
    check_written(written, head, *framing);
  }
}

}  // namespace
}  // namespace hushgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hushgate::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
