#include "http/h1_state.h"

#include <gtest/gtest.h>

namespace hushgate::http {
namespace {

ClientExchange good_client() {
  ClientExchange exchange;
  exchange.request = Passage::complete;
  exchange.response = Passage::complete;
  exchange.response_framing = {FramingKind::length, 5};
  return exchange;
}

UpstreamExchange good_upstream() {
  UpstreamExchange exchange;
  exchange.request = Passage::complete;
  exchange.response = Passage::complete;
  exchange.response_framing = {FramingKind::chunked, 0};
  return exchange;
}

template <typename Exchange, typename Change>
Exchange with(Exchange exchange, Change change) {
  change(exchange);
  return exchange;
}

TEST(MayKeepAlive, ACompleteHttp11ExchangeIsKept) { EXPECT_TRUE(may_keep_alive(good_client())); }

TEST(MayKeepAlive, EveryReasonAloneEndsTheConnection) {
  using E = ClientExchange;
  const auto kept = [](auto change) { return may_keep_alive(with(good_client(), change)); };
  EXPECT_FALSE(kept([](E& e) { e.request = Passage::incomplete; }));
  EXPECT_FALSE(kept([](E& e) { e.response = Passage::incomplete; }));
  EXPECT_FALSE(kept([](E& e) { e.lifetime = Lifetime::stopping; }));
  EXPECT_FALSE(kept([](E& e) { e.request_connection.close = true; }));
  EXPECT_FALSE(kept([](E& e) { e.request_version = Version::http10; }));
  EXPECT_FALSE(kept([](E& e) { e.response_framing.kind = FramingKind::until_eof; }));
  EXPECT_FALSE(kept([](E& e) { e.response_framing.kind = FramingKind::tunnel; }));
}

TEST(MayKeepAlive, CloseWinsOverKeepAlive) {
  for (const Version version : {Version::http10, Version::http11}) {
    ClientExchange exchange = good_client();
    exchange.request_version = version;
    exchange.request_connection.keep_alive = true;
    EXPECT_TRUE(may_keep_alive(exchange));
    exchange.request_connection.close = true;
    EXPECT_FALSE(may_keep_alive(exchange));
  }
}

TEST(MayKeepAlive, EverySelfDelimitedFramingIsKept) {
  for (const FramingKind kind : {FramingKind::none, FramingKind::length, FramingKind::chunked}) {
    ClientExchange exchange = good_client();
    exchange.response_framing.kind = kind;
    EXPECT_TRUE(may_keep_alive(exchange));
  }
}

TEST(MayPool, ACompleteHttp11ExchangeIsPooled) { EXPECT_TRUE(may_pool(good_upstream())); }

TEST(MayPool, EveryReasonAloneKeepsItOut) {
  using E = UpstreamExchange;
  const auto pooled = [](auto change) { return may_pool(with(good_upstream(), change)); };
  EXPECT_FALSE(pooled([](E& e) { e.request = Passage::incomplete; }));
  EXPECT_FALSE(pooled([](E& e) { e.response = Passage::incomplete; }));
  EXPECT_FALSE(pooled([](E& e) { e.request_connection.close = true; }));
  EXPECT_FALSE(pooled([](E& e) { e.response_connection.close = true; }));
  EXPECT_FALSE(pooled([](E& e) { e.response_version = Version::http10; }));
  EXPECT_FALSE(pooled([](E& e) { e.response_framing.kind = FramingKind::until_eof; }));
  EXPECT_FALSE(pooled([](E& e) { e.response_framing.kind = FramingKind::tunnel; }));
  EXPECT_FALSE(pooled([](E& e) { e.surplus_bytes = 1; }));
  EXPECT_FALSE(pooled([](E& e) { e.keep_alive_timeout_s = 0; }));
  EXPECT_FALSE(pooled([](E& e) { e.keep_alive_timeout_s = 1; }));
  EXPECT_TRUE(pooled([](E& e) { e.keep_alive_timeout_s = 2; }));
}

TEST(MayPool, Http10NeedsKeepAlive) {
  UpstreamExchange exchange = good_upstream();
  exchange.response_version = Version::http10;
  exchange.response_framing = {FramingKind::length, 5};
  exchange.response_connection.keep_alive = true;
  EXPECT_TRUE(may_pool(exchange));
  exchange.response_connection.close = true;
  EXPECT_FALSE(may_pool(exchange));
}

}  // namespace
}  // namespace hushgate::http
