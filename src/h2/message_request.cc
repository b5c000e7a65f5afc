// Requests: a header block becomes HTTP/1.1 text.
#include "h2/message.h"
#include "h2/message_fields.h"
#include "http/head_writer.h"
#include "http/text.h"

namespace hushgate::h2 {

namespace {

// Our own lines without the texts of the block: well below this.
constexpr std::size_t kFixedBytes = 256;

// A block's views. The null pointer: did not come.
struct Request {
  std::string_view method, scheme, authority, path, protocol;
  FieldFacts fields;
  std::size_t first_field = 0;  // that is no pseudo-field
  bool is_connect = false;
  Inner inner;

  bool extended() const { return protocol.data() != nullptr; }
  bool drops_length() const {
    return fields.has_length() && inner.body != Body::length && inner.body != Body::none;
  }
  // Nearly always: the fields are what they are in the inner form.
  bool is_plain() const {
    return !fields.has_odd && fields.cookies < 2 && !extended() && !drops_length();
  }
};

std::string_view* pseudo_of(Request& request, std::string_view name) {
  switch (name.size()) {
    case 5: return name == ":path" ? &request.path : nullptr;
    case 7:
      if (name == ":method") return &request.method;
      return name == ":scheme" ? &request.scheme : nullptr;
    case 9: return name == ":protocol" ? &request.protocol : nullptr;
    case 10: return name == ":authority" ? &request.authority : nullptr;
    default: return nullptr;
  }
}

// False: malformed, whatever else is in the block.
bool collect(const Block& block, Request& request) {
  bool in_fields = false;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Block::Field field = block[i];
    if (!is_clean_value(field.value)) return false;
    if (!is_pseudo(field.name)) {
      in_fields = true;
      if (!request.fields.add(field)) return false;
      continue;
    }
    std::string_view* const place = pseudo_of(request, field.name);
    if (in_fields || place == nullptr || place->data() != nullptr) return false;
    *place = field.value;
    request.first_field = i + 1;
  }
  return true;
}

std::string_view without_default_port(std::string_view authority, std::string_view scheme) {
  const std::string_view port = http::equals_lower(scheme, "https") ? ":443" : ":80";
  if (authority.ends_with(port)) authority.remove_suffix(port.size());
  return authority;
}

// Host may say the same again, or replace what is missing (section 8.3.1).
bool settle_authority(Request& request) {
  const std::string_view host = request.fields.host;
  if (request.authority.data() == nullptr) {
    if (request.is_connect && !request.extended()) return false;
    request.authority = host;
  } else if (host.data() != nullptr) {
    const bool same =
        http::equals_ignoring_case(without_default_port(request.authority, request.scheme),
                                   without_default_port(host, request.scheme));
    if (!same) return false;
  }
  return !request.authority.empty();
}

// "websocket" or "name/version": what may stand in Upgrade.
bool is_protocol(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  if (!http::is_token(name) || http::equals_lower(name, "h2c")) return false;
  return slash == std::string_view::npos || http::is_token(text.substr(slash + 1));
}

// What a target may be at all. The parser is narrower.
bool is_target(const Request& request) {
  const std::string_view path = request.path;
  if (path == "*") return request.method == "OPTIONS";
  return path.starts_with('/') && path.find_first_of(" \t") == std::string_view::npos;
}

// A CONNECT has neither :scheme nor :path; an extended one has both, as all others (section 8.5,
// RFC 8441 section 4).
bool settle_target(Request& request) {
  request.is_connect = request.method == "CONNECT";
  if (request.extended() && (!request.is_connect || !is_protocol(request.protocol))) return false;
  if (request.is_connect && !request.extended()) {
    return request.scheme.data() == nullptr && request.path.data() == nullptr;
  }
  const bool http =
      http::equals_lower(request.scheme, "http") || http::equals_lower(request.scheme, "https");
  return http && is_target(request);
}

bool settle_body(Request& request, Stream stream) {
  const FieldFacts& fields = request.fields;
  if (fields.faulty_length()) return false;
  const std::uint64_t length = fields.framing.content_length;
  if (length > 0 && (stream == Stream::ended || request.is_connect)) return false;
  Inner& inner = request.inner;
  inner.is_connect = request.is_connect;
  inner.method = request.extended() ? http::Method::get : http::method_of(request.method);
  if (request.is_connect) {
    inner.body = Body::tunnel;
  } else if (stream == Stream::open) {
    inner.body = fields.has_length() && !fields.trailer ? Body::length : Body::chunked;
    if (inner.body == Body::length) inner.length = length;
  }
  return true;
}

bool settle(Request& request, Stream stream) {
  return http::is_token(request.method) && settle_target(request) && settle_authority(request) &&
         settle_body(request, stream);
}

bool is_dropped(const Request& request, std::string_view name) {
  const http::FieldId id = http::classify_field(name);
  if (id == http::FieldId::content_length) return request.drops_length();
  const bool key = request.extended() && name == "sec-websocket-key";
  return is_odd(id) || is_cookie(name) || key;
}

void put_cookies(http::HeadWriter& writer, const Request& request, const Block& block) {
  if (request.fields.cookies == 0) return;
  std::string_view before = "cookie: ";
  for (std::size_t i = request.first_field; i < block.size(); ++i) {
    const auto [name, value] = block[i];
    if (!is_cookie(name)) continue;
    writer.put_all(before, value);
    before = "; ";
  }
  writer.put("\r\n");
}

void put_fields(http::HeadWriter& writer, const Request& request, const Block& block) {
  if (request.is_plain()) return writer.put(block.lines(request.first_field));
  for (std::size_t i = request.first_field; i < block.size(); ++i) {
    const auto [name, value] = block[i];
    if (!is_dropped(request, name)) writer.put_all(name, ": ", value, "\r\n");
  }
  put_cookies(writer, request, block);
}

void put_framing(http::HeadWriter& writer, const Request& request) {
  if (request.inner.body == Body::chunked) writer.put("Transfer-Encoding: chunked\r\n");
  if (request.inner.body != Body::none || request.fields.has_length()) return;
  switch (request.inner.method) {
    case http::Method::post:
    case http::Method::put:
    case http::Method::patch: writer.put("Content-Length: 0\r\n"); return;
    default: return;
  }
}

void put_connection(http::HeadWriter& writer, const Request& request, std::string_view key) {
  const bool te = request.fields.te_trailers;
  if (te) writer.put("TE: trailers\r\n");
  if (!request.extended()) return writer.put(te ? "Connection: TE\r\n" : "");
  writer.put(te ? "Connection: Upgrade, TE\r\n" : "Connection: Upgrade\r\n");
  writer.put_line("Upgrade: ", request.protocol);
  if (http::equals_lower(request.protocol, "websocket")) {
    writer.put_line("Sec-WebSocket-Key: ", key);
  }
}

void put_head(http::HeadWriter& writer, const Request& request, const Block& block,
              std::string_view key) {
  if (request.is_connect && !request.extended()) {
    writer.put_all("CONNECT ", request.authority, " HTTP/1.1\r\n");
  } else {
    writer.put_all(request.extended() ? "GET" : request.method, " ", request.path, " HTTP/1.1\r\n");
  }
  writer.put_line("Host: ", request.authority);
  put_fields(writer, request, block);
  put_framing(writer, request);
  put_connection(writer, request, key);
  writer.put("\r\n");
}

// A head of which a part is missing may not be taken for a smaller one. What was too long is told
// apart as HTTP/1.1 does: the request line (414) or the fields (431).
Inner too_large(const Request& request, const Block& block, Stream stream, std::string& out) {
  out.append("GET /");
  if (request.path.data() != nullptr) out.append(request.path).append(" HTTP/1.1\r\nx: ");
  append_too_much(block.max_bytes(), out);
  Inner inner;
  if (stream == Stream::open) inner.body = Body::chunked;
  return inner;
}

}  // namespace

Result<Inner> request_text(const Block& block, Stream stream, std::string_view key,
                           std::string& out) {
  Request request;
  if (!collect(block, request)) return fail(ErrorKind::bad_request);
  if (block.overflowed()) return too_large(request, block, stream, out);
  if (!settle(request, stream)) return fail(ErrorKind::bad_request);
  const std::size_t room = kFixedBytes + block.text_bytes() + request.authority.size() + key.size();
  http::append_written(out, room,
                       [&](http::HeadWriter& writer) { put_head(writer, request, block, key); });
  return request.inner;
}

}  // namespace hushgate::h2
