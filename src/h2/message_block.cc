// Heads and trailers of the inner form become header blocks.
#include "base/assert.h"
#include "h2/message.h"
#include "http/digest.h"

namespace hushgate::h2 {

namespace {

using http::FieldId;
using http::FieldIdSet;

// Connection-specific (RFC 9113 section 8.2.2); what HTTP/2 has for them is added apart.
constexpr FieldIdSet kConnectionSpecific{
    FieldId::connection,        FieldId::keep_alive, FieldId::proxy_connection, FieldId::te,
    FieldId::transfer_encoding, FieldId::upgrade,    FieldId::http2_settings,
};

// The first protocol of Upgrade that may be asked for.
std::string_view upgrade_protocol(const http::FieldList& fields) {
  for (const http::Field& field : fields) {
    if (field.id != FieldId::upgrade) continue;
    http::TokenList list(field.value);
    while (auto element = list.next()) {
      if (http::is_upgrade_protocol(*element)) return *element;
    }
  }
  return {};
}

void add_target(const http::RequestHead& head, std::string_view scheme, FieldViews& out) {
  const bool extended = asks_extended_connect(head);
  out.add(":method", extended ? "CONNECT" : head.method_text);
  if (extended) out.add(":protocol", upgrade_protocol(head.fields));
  if (head.form != http::TargetForm::authority) {
    out.add(":scheme", scheme);
    out.add(":path", head.target);
  }
  if (!head.authority.empty()) out.add(":authority", head.authority);
}

bool is_kept(const http::Field& field, const http::RequestHead& head, bool tunnel) {
  if (kConnectionSpecific.contains(field.id) || field.named_by_connection) return false;
  switch (field.id) {
    case FieldId::host: return false;
    case FieldId::content_length: return !tunnel;
    case FieldId::other:
      return !tunnel || head.form == http::TargetForm::authority ||
             !http::equals_lower(field.name, "sec-websocket-key");
    default: return true;
  }
}

}  // namespace

bool asks_extended_connect(const http::RequestHead& head) {
  return head.wants_upgrade && head.method == http::Method::get &&
         head.framing.coding == http::Coding::absent && head.framing.content_length == 0;
}

bool request_block(const http::RequestHead& head, std::string_view scheme, FieldViews& out) {
  HG_ASSERT(head.form != http::TargetForm::absolute);
  add_target(head, scheme, out);
  const bool tunnel = head.method == http::Method::connect || asks_extended_connect(head);
  for (const http::Field& field : head.fields) {
    if (is_kept(field, head, tunnel)) out.add(field.name, field.value);
  }
  if (head.te_trailers) out.add("te", "trailers");
  return !out.overflowed();
}

bool response_block(const http::ResponseHead& head, FieldViews& out) {
  const bool upgraded = head.status == 101;
  out.add(":status", upgraded ? "200" : head.status_text);
  for (const http::Field& field : head.fields) {
    if (kConnectionSpecific.contains(field.id) || field.named_by_connection) continue;
    if (upgraded && http::equals_lower(field.name, "sec-websocket-accept")) continue;
    out.add(field.name, field.value);
  }
  return !out.overflowed();
}

bool trailer_block(const http::FieldList& fields, Block& out) {
  for (const http::Field& field : fields) {
    if (!kConnectionSpecific.contains(field.id)) out.add_lowered(field.name, field.value);
  }
  return !out.overflowed();
}

}  // namespace hushgate::h2
