#include "http/framing.h"

#include "http/head.h"

namespace hushgate::http {

namespace {

// Parameters of a coding that will be refused anyway are not looked at, but `chunked` must stand
// alone.
Coding add_coding(Coding before, std::string_view element) {
  const bool chunked_before = before == Coding::chunked || before == Coding::unknown_then_chunked;
  if (before == Coding::malformed || chunked_before) return Coding::malformed;
  if (equals_lower(element, "chunked")) {
    return before == Coding::absent ? Coding::chunked : Coding::unknown_then_chunked;
  }
  const std::string_view name = trim_blanks(element.substr(0, element.find(';')));
  if (!is_token(name) || equals_lower(name, "chunked")) return Coding::malformed;
  return Coding::unknown;
}

// What no message may say, wherever its body would end.
bool is_contradictory(Version version, const FramingInputs& inputs) {
  if (inputs.coding != Coding::absent) {
    return inputs.coding == Coding::malformed || version == Version::http10 ||
           inputs.length_field != LengthField::absent;
  }
  return inputs.length_field == LengthField::malformed ||
         inputs.length_field == LengthField::repeated;
}

Framing framing_of_fields(const FramingInputs& inputs, FramingKind otherwise) {
  if (inputs.coding == Coding::chunked) return {FramingKind::chunked, 0};
  if (inputs.length_field == LengthField::valid) {
    return {FramingKind::length, inputs.content_length};
  }
  return {otherwise, 0};
}

}  // namespace

void FramingInputs::add_transfer_encoding(std::string_view value) {
  TokenList list(value);
  while (auto element = list.next()) coding = add_coding(coding, *element);
}

void FramingInputs::add_content_length(std::string_view value) {
  if (length_field != LengthField::absent) {
    length_field = LengthField::repeated;
    return;
  }
  const auto length = parse_decimal(value, kMaxContentLength);
  length_field = length ? LengthField::valid : LengthField::malformed;
  content_length = length.value_or(0);
}

Result<Framing> request_framing(Method method, Version version, const FramingInputs& inputs) {
  if (is_contradictory(version, inputs)) return fail(ErrorKind::bad_request);
  if (inputs.coding == Coding::unknown || inputs.coding == Coding::unknown_then_chunked) {
    return fail(ErrorKind::unknown_transfer_coding);
  }
  const Framing framing = framing_of_fields(inputs, FramingKind::none);
  const bool never_a_body = method == Method::trace || method == Method::connect;
  if (never_a_body && !framing.bodyless()) return fail(ErrorKind::bad_request);
  return framing;
}

Result<Framing> request_framing(const RequestHead& head) {
  return request_framing(head.method, head.version, head.framing);
}

Result<Framing> response_framing(Method method, std::uint16_t status, Version version,
                                 const FramingInputs& inputs) {
  if (is_contradictory(version, inputs)) return fail(ErrorKind::http_protocol_error);
  if (inputs.coding == Coding::unknown || inputs.coding == Coding::unknown_then_chunked) {
    return fail(ErrorKind::http_protocol_error);
  }
  const bool connected = method == Method::connect && status >= 200 && status < 300;
  if (status == 101 || connected) return Framing{FramingKind::tunnel, 0};
  if (status < 200 || status == 204 || status == 304 || method == Method::head) {
    return Framing{FramingKind::none, 0};
  }
  return framing_of_fields(inputs, FramingKind::until_eof);
}

Result<Framing> response_framing(Method method, const ResponseHead& head) {
  return response_framing(method, head.status, head.version, head.framing);
}

bool is_safe_bodyless(const RequestHead& head, const Framing& framing) {
  switch (head.method) {
    case Method::get:
    case Method::head:
    case Method::options:
    case Method::trace: return framing.bodyless() && !head.wants_upgrade;
    default: return false;
  }
}

}  // namespace hushgate::http
