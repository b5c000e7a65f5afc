// What stands behind a listener: it decides where a request goes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/error.h"
#include "http/head.h"
#include "route/decision.h"

namespace hushgate::route {

// An answer that the site gives by itself.
struct SiteAnswer {
  std::uint16_t status = 200;
  std::string content_type{};
  std::string body{};
  std::string fields{};  // whole field lines, each with its CRLF
};

using Verdict = std::variant<Decision, SiteAnswer, ErrorKind>;

class Site {
 public:
  virtual ~Site() = default;
  virtual Verdict decide(const http::RequestHead& head) = 0;
};

}  // namespace hushgate::route
