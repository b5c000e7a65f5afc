// Responses and trailers: a header block becomes HTTP/1.1 text.
#include "h2/message.h"
#include "h2/message_fields.h"
#include "http/head_writer.h"
#include "http/reason.h"
#include "http/rewrite.h"
#include "http/text.h"

namespace hushgate::h2 {

namespace {

// Our own lines without the texts of the block: well below this.
constexpr std::size_t kFixedBytes = 256;

struct Response {
  std::string_view status_text;  // the null pointer: did not come
  std::uint16_t status = 0;
  FieldFacts fields;
  Inner inner;
  std::size_t first_field = 0;  // that is no pseudo-field
  bool upgraded = false;        // to an extended CONNECT: 101
  bool keeps_length = false;    // content-length goes through
  bool is_empty = false;        // no body came where one could have: said as a length

  bool drops_length() const { return fields.has_length() && !keeps_length; }
  // Nearly always: the fields are what they are in the inner form.
  bool is_plain() const { return !fields.has_odd && !upgraded && !drops_length(); }
};

// False: malformed, whatever else is in the block.
bool collect(const Block& block, Response& response) {
  bool in_fields = false;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Block::Field field = block[i];
    if (!is_clean_value(field.value)) return false;
    if (!is_pseudo(field.name)) {
      in_fields = true;
      if (!response.fields.add(field)) return false;
      continue;
    }
    const bool again = response.status_text.data() != nullptr;
    if (in_fields || again || field.name != ":status") return false;
    response.status_text = field.value;
    response.first_field = i + 1;
  }
  return true;
}

// There is no 101 in HTTP/2 (section 8.6).
bool settle_status(Response& response) {
  const auto status = http::parse_decimal(response.status_text, 599);
  if (response.status_text.size() != 3 || !status || *status < 100 || *status == 101) return false;
  response.status = static_cast<std::uint16_t>(*status);
  response.inner.is_interim = *status < 200;
  return true;
}

bool settle_body(Response& response, const Asked& asked, Stream stream) {
  const FieldFacts& fields = response.fields;
  Inner& inner = response.inner;
  const std::uint16_t status = response.status;
  if (fields.faulty_length()) return false;
  if (inner.is_interim) return stream == Stream::open;  // section 8.1
  const bool extended = !asked.protocol.empty();
  if (status < 300 && (extended || asked.method == http::Method::connect)) {
    response.upgraded = extended;
    inner.body = Body::tunnel;
    return true;
  }
  if (status == 204) return true;
  response.keeps_length = fields.has_length();
  if (status == 304 || asked.method == http::Method::head) return true;
  const std::uint64_t length = fields.framing.content_length;
  if (stream == Stream::ended) {
    response.is_empty = true;
    return length == 0;
  }
  if (fields.has_length() && !fields.trailer) {
    inner.body = Body::length;
    inner.length = length;
  } else {
    inner.body = Body::chunked;
    response.keeps_length = false;
  }
  return true;
}

bool is_dropped(const Response& response, std::string_view name) {
  const http::FieldId id = http::classify_field(name);
  if (id == http::FieldId::content_length) return response.drops_length();
  const bool hop = id == http::FieldId::te || id == http::FieldId::http2_settings;
  return hop || (response.upgraded && name == "sec-websocket-accept");
}

void put_fields(http::HeadWriter& writer, const Response& response, const Block& block) {
  if (response.is_plain()) return writer.put(block.lines(response.first_field));
  for (std::size_t i = response.first_field; i < block.size(); ++i) {
    const auto [name, value] = block[i];
    if (!is_dropped(response, name)) writer.put_all(name, ": ", value, "\r\n");
  }
}

void put_head(http::HeadWriter& writer, const Response& response, const Block& block,
              const Asked& asked) {
  const std::uint16_t status = response.upgraded ? std::uint16_t{101} : response.status;
  writer.put("HTTP/1.1 ");
  writer.put_decimal(status);
  writer.put_all(" ", http::reason_of(status), "\r\n");
  put_fields(writer, response, block);
  if (response.inner.body == Body::chunked) writer.put("Transfer-Encoding: chunked\r\n");
  if (response.is_empty && !response.keeps_length) writer.put("Content-Length: 0\r\n");
  if (response.upgraded) {
    writer.put_line("Connection: Upgrade\r\nUpgrade: ", asked.protocol);
    if (!asked.accept.empty()) writer.put_line("Sec-WebSocket-Accept: ", asked.accept);
  }
  writer.put("\r\n");
}

// A head of which a part is missing may not be taken for a smaller one.
Inner too_large(const Block& block, Stream stream, std::string& out) {
  out.append("HTTP/1.1 200 OK\r\nx: ");
  append_too_much(block.max_bytes(), out);
  Inner inner;
  if (stream == Stream::open) inner.body = Body::chunked;
  return inner;
}

void put_trailers(http::HeadWriter& writer, const Block& block) {
  writer.put("0\r\n");
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto [name, value] = block[i];
    if (http::may_be_trailer(name)) writer.put_all(name, ": ", value, "\r\n");
  }
  writer.put("\r\n");
}

}  // namespace

Result<Inner> response_text(const Block& block, const Asked& asked, Stream stream,
                            std::string& out) {
  Response response;
  if (!collect(block, response)) return fail(ErrorKind::http_protocol_error);
  if (block.overflowed()) return too_large(block, stream, out);
  if (!settle_status(response) || !settle_body(response, asked, stream)) {
    return fail(ErrorKind::http_protocol_error);
  }
  const std::size_t room =
      kFixedBytes + block.text_bytes() + asked.protocol.size() + asked.accept.size();
  http::append_written(out, room,
                       [&](http::HeadWriter& writer) { put_head(writer, response, block, asked); });
  return response.inner;
}

Result<void> trailer_text(const Block& block, std::string& out) {
  if (block.overflowed()) return fail(ErrorKind::head_too_large);
  FieldFacts facts;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Block::Field field = block[i];
    if (is_pseudo(field.name) || !is_clean_value(field.value) || !facts.add(field)) {
      return fail(ErrorKind::bad_request);
    }
  }
  http::append_written(out, block.text_bytes() + kFixedBytes,
                       [&](http::HeadWriter& writer) { put_trailers(writer, block); });
  return {};
}

}  // namespace hushgate::h2
