// The independent witness of the fuzz targets: Boost.Beast's HTTP/1 parser (test-only, nothing of
// hushgate links it). Whatever hushgate accepts, Beast must accept, and read the same message out
// of it. The other direction does not hold: hushgate refuses much that Beast lets through.
//
// Where the two differ although hushgate accepts, by design:
// - HTTP/1.2 to 1.9 are HTTP/1.1 to us (RFC 9112 section 2.3); Beast knows 1.0 and 1.1.
// - A status line may end behind its code (many servers do); Beast wants the space.
// - A Connection element that is no token makes us close the connection; Beast refuses the message.
// Proxy-Connection,
//   which means nothing to us, too.
// - Beast applies its checks of Content-Length, Transfer-Encoding and Connection to trailers, which
// it merges into the
//   head; we drop those trailers.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/head.h"

namespace hushgate::fuzz {

// Ends the run with the input saved. Used instead of HG_ASSERT to say that the finding is the
// fuzzer's.
inline void require(bool condition,
                    const std::source_location& where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s:%u does not hold\n", where.file_name(), where.line());
  std::abort();
}

struct Witnessed {
  bool failed = false;    // refused
  bool headed = false;    // the head is complete
  bool complete = false;  // the message is
  bool chunked = false;
  std::string method;
  std::string target;
  int version = 0;
  int status = 0;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> fields;  // trailers follow
  std::string body;
  std::size_t consumed = 0;
};

template <bool kIsRequest>
class Witness final : public boost::beast::http::basic_parser<kIsRequest> {
 public:
  using Error = boost::beast::error_code;
  using Text = boost::beast::string_view;

  // `skip_body` for responses to HEAD; `at_end` if the connection ended behind `bytes`.
  struct How {
    bool skip_body = false;
    bool at_end = false;
  };

  static Witnessed read(std::string_view bytes, How how) {
    Witness witness;
    witness.eager(true);
    witness.header_limit(0xFFFFFFFF);
    witness.body_limit(std::numeric_limits<std::uint64_t>::max());  // none does not work in 1.74
    if constexpr (!kIsRequest) witness.skip(how.skip_body);
    Error error;
    while (!witness.is_done() && witness.seen_.consumed < bytes.size()) {
      const std::string_view rest = bytes.substr(witness.seen_.consumed);
      witness.seen_.consumed += witness.put(boost::asio::buffer(rest.data(), rest.size()), error);
      if (error) break;
    }
    if (error == boost::beast::http::error::need_more) error = {};
    if (!error && how.at_end && !witness.is_done()) witness.put_eof(error);
    witness.seen_.failed = static_cast<bool>(error);
    witness.seen_.headed = witness.is_header_done();
    witness.seen_.complete = witness.is_done();
    if (witness.seen_.headed) witness.seen_.chunked = witness.chunked();
    return std::move(witness.seen_);
  }

 private:
  static std::string copy(Text text) { return {text.data(), text.size()}; }

  void on_request_impl(boost::beast::http::verb, Text method, Text target, int version,
                       Error&) override {
    seen_.method = copy(method);
    seen_.target = copy(target);
    seen_.version = version;
  }
  void on_response_impl(int status, Text reason, int version, Error&) override {
    seen_.status = status;
    seen_.reason = copy(reason);
    seen_.version = version;
  }
  void on_field_impl(boost::beast::http::field, Text name, Text value, Error&) override {
    seen_.fields.emplace_back(copy(name), copy(value));
  }
  void on_header_impl(Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(Text body, Error&) override {
    seen_.body += copy(body);
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text, Error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, Error&) override {
    seen_.body += copy(body);
    return body.size();
  }
  void on_finish_impl(Error&) override {}

  Witnessed seen_;
};

// True where Beast refuses a head that we accept, see above.
inline bool beast_refuses_connection(const http::FieldList& fields) {
  for (const http::Field& field : fields) {
    if (field.id != http::FieldId::connection && field.id != http::FieldId::proxy_connection) {
      continue;
    }
    http::TokenList list(field.value);
    while (auto element = list.next()) {
      if (!element->empty() && !http::is_token(*element)) return true;
    }
  }
  return false;
}

// True where Beast judges a trailer section that we accept by the rules of a head.
inline bool beast_judges_trailers(const http::FieldList& trailers) {
  for (const http::Field& field : trailers) {
    switch (field.id) {
      case http::FieldId::connection:
      case http::FieldId::proxy_connection:
      case http::FieldId::content_length:
      case http::FieldId::transfer_encoding: return true;
      default: break;
    }
  }
  return false;
}

inline bool same_fields(const http::FieldList& ours, const Witnessed& theirs) {
  if (theirs.fields.size() < ours.size()) return false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].name != theirs.fields[i].first) return false;
    if (ours[i].value != theirs.fields[i].second) return false;
  }
  return true;
}

}  // namespace hushgate::fuzz
