#include "http/head_writer.h"

namespace hushgate::http {

void HeadWriter::put_element(std::string_view name_and_colon, bool& first,
                             std::string_view element) {
  put(first ? name_and_colon : std::string_view(", "));
  put(element);
  first = false;
}

void HeadWriter::put_joined(std::string_view name_and_colon, const FieldList& fields, FieldId id,
                            std::string_view last_a, std::string_view last_b) {
  bool first = true;
  for (const Field& field : fields) {
    if (field.id == id && !field.value.empty()) put_element(name_and_colon, first, field.value);
  }
  if (!last_b.empty()) {
    put_element(name_and_colon, first, last_a);
    put(last_b);
  }
  if (!first) put("\r\n");
}

void HeadWriter::put_via(const FieldList& fields, Version head_version,
                         std::string_view via_version, std::string_view token) {
  if (via_version == "2") return put_joined("Via: ", fields, FieldId::via, "2 ", token);
  HG_ASSERT(via_version.empty());
  put_joined("Via: ", fields, FieldId::via, head_version == Version::http10 ? "1.0 " : "1.1 ",
             token);
}

void HeadWriter::put_framing(const Framing& framing) {
  if (framing.kind == FramingKind::length) {
    put("Content-Length: ");
    put_decimal(framing.length);
    put("\r\n");
  } else if (framing.kind == FramingKind::chunked) {
    put("Transfer-Encoding: chunked\r\n");
  }
}

bool HeadWriter::put_upgrade(const FieldList& fields) {
  bool first = true;
  for (const Field& field : fields) {
    if (field.id != FieldId::upgrade) continue;
    TokenList list(field.value);
    while (auto element = list.next()) {
      if (is_upgrade_protocol(*element)) put_element("Upgrade: ", first, *element);
    }
  }
  if (!first) put("\r\n");
  return !first;
}

void HeadWriter::put_connection(ConnectionField connection, std::string_view extra) {
  bool first = true;
  switch (connection) {
    case ConnectionField::none: break;
    case ConnectionField::close: put_element("Connection: ", first, "close"); break;
    case ConnectionField::keep_alive: put_element("Connection: ", first, "keep-alive"); break;
    case ConnectionField::upgrade: put_element("Connection: ", first, "Upgrade"); break;
  }
  if (!extra.empty()) put_element("Connection: ", first, extra);
  if (!first) put("\r\n");
}

std::size_t field_lines_bytes(const FieldList& fields) {
  std::size_t bytes = 0;
  for (const Field& field : fields) {
    bytes += field.name.size() + field.value.size() + 4;
    if (field.id == FieldId::upgrade) bytes += field.value.size();  // "a,b" becomes "a, b"
  }
  return bytes;
}

}  // namespace hushgate::http
