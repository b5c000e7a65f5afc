#include "proxy/setup.h"

#include <cstddef>
#include <string_view>

namespace hushgate::proxy {
namespace {

// The path and query as they were sent; "" where an absolute-form has neither.
std::string_view behind_authority(const http::RequestHead& head) {
  if (head.form == http::TargetForm::asterisk) return "*";
  if (head.form != http::TargetForm::absolute) return head.target;
  const char* end = head.authority.data() + head.authority.size();
  return head.target.substr(static_cast<std::size_t>(end - head.target.data()));
}

}  // namespace

route::Verdict Setup::decide(const http::RequestHead& head) const {
  const Result<route::Decision> decision = table.decide(head.method_text, behind_authority(head));
  if (!decision) return decision.error().kind;
  return *decision;
}

}  // namespace hushgate::proxy
