#include "http/head_writer.h"
#include "http/rewrite.h"

namespace hushgate::http {

namespace {

constexpr std::size_t kFixedBytes = 512;

// Hop-by-hop, or written anew.
constexpr FieldIdSet kDropped{
    FieldId::connection,
    FieldId::keep_alive,
    FieldId::proxy_connection,
    FieldId::proxy_authenticate,
    FieldId::proxy_authorization,
    FieldId::te,
    FieldId::transfer_encoding,
    FieldId::content_length,
    FieldId::upgrade,
    FieldId::http2_settings,
    FieldId::via,
};

Framing written_framing(const ResponseHead& head, const Framing& framing) {
  if (framing.kind != FramingKind::none) return framing;
  const bool never_a_length = head.status < 200 || head.status == 204;
  if (never_a_length || head.framing.length_field != LengthField::valid) return {};
  return {FramingKind::length, head.framing.content_length};  // HEAD, 304
}

void put_head(HeadWriter& writer, const ResponseHead& head, const ResponseRewrite& rewrite) {
  writer.put("HTTP/1.1 ");
  writer.put_decimal(head.status);
  writer.put_all(" ", head.reason, "\r\n");
  bool id_kept = false;
  for (const Field& field : head.fields) {
    if (kDropped.contains(field.id) || field.named_by_connection) continue;
    id_kept |= field.id == FieldId::x_request_id;
    writer.put_field(field);
  }
  writer.put_framing(written_framing(head, rewrite.framing));
  writer.put_via(head.fields, head.version, rewrite.via_version, rewrite.via_token);
  if (!id_kept && !rewrite.request_id.empty()) {
    writer.put_line("X-Request-Id: ", rewrite.request_id);
  }
  const bool required = head.status == 426;  // RFC 9110 section 15.5.22
  const bool upgraded = rewrite.connection == ConnectionField::upgrade;
  const bool written = (required || upgraded) && writer.put_upgrade(head.fields);
  writer.put_connection(rewrite.connection, written && !upgraded ? "Upgrade" : "");
  writer.put("\r\n");
}

}  // namespace

void write_response_head(std::string& out, const ResponseHead& head,
                         const ResponseRewrite& rewrite) {
  const std::size_t room = kFixedBytes + head.reason.size() + field_lines_bytes(head.fields) +
                           rewrite.via_token.size() + rewrite.request_id.size();
  append_written(out, room, [&](HeadWriter& writer) { put_head(writer, head, rewrite); });
}

void write_interim_head(std::string& out, const ResponseHead& head, std::string_view via_token,
                        std::string_view via_version) {
  write_response_head(out, head,
                      {.framing = {}, .via_token = via_token, .via_version = via_version});
}

}  // namespace hushgate::http
