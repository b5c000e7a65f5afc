#include "base/assert.h"
#include "http/head_writer.h"
#include "http/rewrite.h"

namespace hushgate::http {

namespace {

// Our own lines without the texts given by the caller: well below this.
constexpr std::size_t kFixedBytes = 512;

// What becomes of a field of the client's.
enum class Fate : std::uint8_t {
  dropped,     // hop-by-hop, or written anew
  kept,        // whatever Connection says
  end_to_end,  // kept unless Connection names it
};

Fate fate_of(FieldId id, const RequestHead& head, const RequestRewrite& rewrite) {
  const auto kept_if = [](bool keep) { return keep ? Fate::kept : Fate::dropped; };
  switch (id) {
    case FieldId::connection:
    case FieldId::keep_alive:
    case FieldId::proxy_connection:
    case FieldId::proxy_authorization:
    case FieldId::te:
    case FieldId::transfer_encoding:
    case FieldId::content_length:
    case FieldId::upgrade:
    case FieldId::http2_settings:
    case FieldId::host:
    case FieldId::via:
    case FieldId::x_forwarded_for: return Fate::dropped;
    case FieldId::x_forwarded_proto:
    case FieldId::x_forwarded_host: return kept_if(rewrite.trust == Trust::trusted);
    case FieldId::x_client_cert_subject:
      return kept_if(rewrite.trust == Trust::trusted && rewrite.client_subject.empty());
    case FieldId::forwarded:
      return rewrite.trust == Trust::trusted ? Fate::end_to_end : Fate::dropped;
    case FieldId::x_request_id: return kept_if(rewrite.request_id.empty());
    case FieldId::expect: return kept_if(head.expect_continue);
    case FieldId::max_forwards: return head.max_forwards ? Fate::dropped : Fate::end_to_end;
    default: return Fate::end_to_end;
  }
}

void put_request_line(HeadWriter& writer, const RequestHead& head, std::string_view prefix) {
  writer.put_all(head.method_text, " ");
  switch (head.form) {
    case TargetForm::origin:
    case TargetForm::absolute: writer.put_all(prefix, head.path, head.query); break;
    case TargetForm::asterisk: writer.put(head.path); break;
    case TargetForm::authority: writer.put(head.authority); break;
  }
  writer.put(" HTTP/1.1\r\n");
}

void put_forwarding(HeadWriter& writer, const RequestHead& head, const RequestRewrite& rewrite,
                    bool proto_kept, bool host_kept) {
  static const FieldList kNoFields;
  const bool trusted = rewrite.trust == Trust::trusted;
  writer.put_joined("X-Forwarded-For: ", trusted ? head.fields : kNoFields,
                    FieldId::x_forwarded_for, "", rewrite.client_address);
  if (!proto_kept && !rewrite.forwarded_proto.empty()) {
    writer.put_line("X-Forwarded-Proto: ", rewrite.forwarded_proto);
  }
  if (!host_kept && !rewrite.forwarded_host.empty()) {
    writer.put_line("X-Forwarded-Host: ", rewrite.forwarded_host);
  }
  writer.put_via(head.fields, head.version, rewrite.via_version, rewrite.via_token);
  if (!rewrite.request_id.empty()) writer.put_line("X-Request-Id: ", rewrite.request_id);
  if (!rewrite.client_subject.empty()) {
    writer.put_line("X-Client-Cert-Subject: ", rewrite.client_subject);
  }
}

void put_head(HeadWriter& writer, const RequestHead& head, const RequestRewrite& rewrite) {
  put_request_line(writer, head, rewrite.path_prefix);
  writer.put_line("Host: ", rewrite.host);
  bool proto_kept = false;
  bool host_kept = false;
  for (const Field& field : head.fields) {
    const Fate fate = fate_of(field.id, head, rewrite);
    if (fate == Fate::dropped) continue;
    if (fate == Fate::end_to_end && field.named_by_connection) continue;
    proto_kept |= field.id == FieldId::x_forwarded_proto;
    host_kept |= field.id == FieldId::x_forwarded_host;
    writer.put_field(field);
  }
  writer.put_framing(rewrite.framing);
  if (head.max_forwards) {
    HG_ASSERT(*head.max_forwards > 0);
    writer.put("Max-Forwards: ");
    writer.put_decimal(*head.max_forwards - 1);
    writer.put("\r\n");
  }
  put_forwarding(writer, head, rewrite, proto_kept, host_kept);
  if (head.te_trailers) writer.put("TE: trailers\r\n");
  if (rewrite.connection == ConnectionField::upgrade) {
    HG_ASSERT(head.wants_upgrade);
    writer.put_upgrade(head.fields);
  }
  writer.put_connection(rewrite.connection, head.te_trailers ? "TE" : "");
  writer.put("\r\n");
}

}  // namespace

void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& rewrite) {
  const std::size_t room = kFixedBytes + head.method_text.size() + rewrite.path_prefix.size() +
                           head.path.size() + head.query.size() + head.authority.size() +
                           field_lines_bytes(head.fields) + rewrite.host.size() +
                           rewrite.client_address.size() + rewrite.forwarded_proto.size() +
                           rewrite.forwarded_host.size() + rewrite.via_token.size() +
                           rewrite.request_id.size() + rewrite.client_subject.size();
  append_written(out, room, [&](HeadWriter& writer) { put_head(writer, head, rewrite); });
}

}  // namespace hushgate::http
