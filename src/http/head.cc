#include "http/head.h"

#include <utility>

namespace hushgate::http {

namespace {

template <typename Head>
void reset_keeping_fields(Head& head) {
  FieldList fields = std::move(head.fields);
  fields.clear();
  head = Head{};
  head.fields = std::move(fields);
}

}  // namespace

Method method_of(std::string_view text) {
  switch (text.size()) {
    case 3:
      if (text == "GET") return Method::get;
      return text == "PUT" ? Method::put : Method::other;
    case 4:
      if (text == "POST") return Method::post;
      return text == "HEAD" ? Method::head : Method::other;
    case 5:
      if (text == "PATCH") return Method::patch;
      return text == "TRACE" ? Method::trace : Method::other;
    case 6: return text == "DELETE" ? Method::delete_ : Method::other;
    case 7:
      if (text == "OPTIONS") return Method::options;
      return text == "CONNECT" ? Method::connect : Method::other;
    default: return Method::other;
  }
}

void RequestHead::clear() { reset_keeping_fields(*this); }

void ResponseHead::clear() { reset_keeping_fields(*this); }

}  // namespace hushgate::http
