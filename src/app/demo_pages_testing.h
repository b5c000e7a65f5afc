// DemoPages without a connection, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "app/demo_pages.h"
#include "config/json.h"
#include "http/parser.h"

namespace hushgate::app::testing {

class DemoPagesTest : public ::testing::Test {
 protected:
  DemoReply ask(const std::string& request_line, std::string_view body = {},
                const std::string& fields = {}) {
    const std::string bytes = request_line + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    http::RequestHead head;
    EXPECT_TRUE(http::parse_request_head(bytes, head)) << request_line;
    last_id_ = pages_.ledger().begin(head, now_);
    DemoSha1 sha1;
    sha1.update(body);
    return pages_.answer({.head = head,
                          .path = head.path,
                          .body = body.substr(0, kMaxDemoBodyBytes),
                          .body_bytes = body.size(),
                          .sha1 = sha1.finish(),
                          .unix_s = 1'700'000'000},
                         manner_, last_id_, now_);
  }
  std::string body(const std::string& request_line, std::string_view body = {}) {
    return ask(request_line, body).steps.front().text;
  }
  std::uint16_t status(const std::string& request_line, std::string_view body = {}) {
    return ask(request_line, body).status;
  }

  Time now_{};
  std::uint64_t last_id_ = 0;
  DemoManner manner_ = DemoManner::kept;
  DemoPages pages_{DemoTiming{}};
};

inline bool is_json(std::string_view text) { return config::parse_json(text).faults.empty(); }

}  // namespace hushgate::app::testing
