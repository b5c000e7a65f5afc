// What a handshake chooses, and what comes of it.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "h2/server_link.h"
#include "tls/testing.h"
#include "upstream/shared.h"
#include "upstream/spares.h"
#include "upstream/testing.h"

namespace hushgate::upstream {
namespace {

using testing::Dial;
using testing::kGate;

constexpr std::uint16_t kPort = 443;

// An upstream in the same loop.
class TlsUpstream final : public io::AcceptHandler {
 public:
  TlsUpstream(testing::Bench& bench, std::vector<std::string> alpn) : bench_(bench) {
    speak(std::move(alpn));
    auto listener =
        bench.loop.backend().listen(SocketAddress(IpPort{kGate, kPort}), {.backlog = 100}, *this);
    EXPECT_TRUE(listener);
    listener_ = std::move(*listener);
  }
  // Connections that come from now on.
  void speak(std::vector<std::string> alpn) {
    context_ = tls::server_context({.alpn = std::move(alpn)});
  }
  std::size_t count() const { return connections_.size(); }
  std::string protocol(std::size_t index) const { return connections_.at(index)->protocol; }
  // Ends all that there are.
  void end_all() {
    for (const auto& each : connections_) each->end();
  }

  void accepted(io::StreamPtr stream) override {
    connections_.push_back(std::make_unique<Connected>(
        bench_.loop, tls::Stream::accept(bench_.scratch, context_, std::move(stream))));
  }
  bool out_of_descriptors() override { return false; }

 private:
  class Connected final : public io::Runnable, public h2::ServerLink::Handler {
   public:
    Connected(io::Loop& loop, tls::Stream::Pointer stream)
        : loop_(loop), stream_(std::move(stream)) {
      stream_->set_owner(this);
    }
    std::string protocol = "(none)";
    void end() {
      legs_.clear();
      if (link_) link_->end(io::CloseHow::fin, {});
      stream_.reset();
    }

   private:
    void run() override {
      if (!stream_ || stream_->handshaking() || stream_->failed()) return;
      protocol = stream_->alpn();
      if (protocol != "h2") return;
      link_.emplace(loop_, *this, io::StreamPtr(stream_.release()), h2::LinkSettings{});
      link_->start({});
    }
    void leg_opened(io::StreamPtr leg) override { legs_.push_back(std::move(leg)); }
    void link_changed() override {}
    void flooded(h2::Flood) override {}

    io::Loop& loop_;
    tls::Stream::Pointer stream_;
    std::optional<h2::ServerLink> link_;
    std::vector<io::StreamPtr> legs_;
  };

  testing::Bench& bench_;
  tls::ServerContext::Pointer context_;
  std::unique_ptr<io::Listener> listener_;
  std::vector<std::unique_ptr<Connected>> connections_;
};

struct TlsBench : testing::Bench {
  explicit TlsBench(config::Protocol protocol = config::Protocol::auto_,
                    std::vector<std::string> speaks = {"h2", "http/1.1"}) {
    use_literal(kGate);
    config.scheme = config::Scheme::https;
    config.port = kPort;
    config.protocol = protocol;
    const bool both = protocol == config::Protocol::auto_;
    tls = tls::client_context({.alpn = both ? std::vector<std::string>{"h2", "http/1.1"}
                                            : std::vector<std::string>{"h2"}});
    upstream.emplace(*this, std::move(speaks));
  }
  Dial& ask(Dialer::Purpose purpose = Dialer::Purpose::request) {
    dials.push_back(std::make_unique<Dial>(*this));
    dials.back()->start(purpose);
    return *dials.back();
  }
  Dial& ask_and_settle(Dialer::Purpose purpose = Dialer::Purpose::request) {
    Dial& dial = ask(purpose);
    run_for(Ms{50});
    return dial;
  }
  bool is_http1(const Dial& dial) {
    return dial.connection != nullptr && !dial.connection->multiplexed();
  }

  std::optional<TlsUpstream> upstream;
  std::vector<std::unique_ptr<Dial>> dials;
};

TEST(SharedTls, WhereTheHandshakeChoosesHttp2AllShareTheConnection) {
  TlsBench bench;
  for (int i = 0; i < 5; ++i) bench.ask();
  bench.run_for(Ms{50});
  for (const auto& dial : bench.dials) {
    ASSERT_TRUE(dial->connection);
    EXPECT_TRUE(dial->connection->multiplexed());
    EXPECT_TRUE(dial->connection->stream().encrypted());
  }
  EXPECT_EQ(bench.upstream->count(), 1U);
  EXPECT_EQ(bench.upstream->protocol(0), "h2");
}

TEST(SharedTls, WhereItChoosesHttp1TheFirstHasTheConnectionAndTheOthersDial) {
  for (const std::vector<std::string>& speaks :
       {std::vector<std::string>{"http/1.1"}, std::vector<std::string>{}}) {
    TlsBench bench(config::Protocol::auto_, speaks);
    for (int i = 0; i < 3; ++i) bench.ask();
    bench.run_for(Ms{100});
    for (const auto& dial : bench.dials) EXPECT_TRUE(bench.is_http1(*dial));
    EXPECT_EQ(bench.upstream->count(), 3U);
    // The answer is remembered.
    EXPECT_EQ(bench.endpoint().shared()->mode(), Shared::Mode::http1);
    EXPECT_TRUE(bench.is_http1(bench.ask_and_settle()));
    EXPECT_EQ(bench.upstream->count(), 4U);
  }
}

TEST(SharedTls, AnHttp1ConnectionThatNobodyWaitsForAnyMoreIsPooled) {
  TlsBench bench(config::Protocol::auto_, {"http/1.1"});
  Dial& dial = bench.ask();
  dial.dialer.cancel();
  bench.run_for(Ms{50});
  EXPECT_EQ(bench.endpoint().idle_count(), 1U);
}

TEST(SharedTls, AnUpstreamThatComesToSpeakHttp2IsSharedFromThenOn) {
  TlsBench bench(config::Protocol::auto_, {"http/1.1"});
  EXPECT_TRUE(bench.is_http1(bench.ask_and_settle()));
  bench.upstream->speak({"h2", "http/1.1"});
  Dial& next = bench.ask_and_settle();
  ASSERT_TRUE(next.connection);
  EXPECT_TRUE(next.connection->multiplexed());
  EXPECT_TRUE(bench.ask_and_settle().connection->multiplexed());
  EXPECT_EQ(bench.upstream->count(), 2U);
}

TEST(SharedTls, OneThatCeasesToIsDialedByEach) {
  TlsBench bench;
  EXPECT_TRUE(bench.ask_and_settle().connection->multiplexed());
  bench.upstream->speak({"http/1.1"});
  bench.upstream->end_all();
  bench.run_for(Ms{50});
  EXPECT_TRUE(bench.is_http1(bench.ask_and_settle()));
  EXPECT_TRUE(bench.is_http1(bench.ask_and_settle()));
  EXPECT_EQ(bench.upstream->count(), 3U);
}

TEST(SharedTls, WhereHttp2IsWantedAndNotChosenTheHandshakeHasFailed) {
  TlsBench bench(config::Protocol::http2, {});
  Dial& dial = bench.ask_and_settle();
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::tls_protocol_error, 0}));
  bench.log.flush();
  EXPECT_NE(bench.lines.text.find("did not choose h2"), std::string::npos) << bench.lines.text;
}

TEST(SharedTls, AnUpgradeToAnUpstreamThatMayChooseGoesOverHttp1) {
  TlsBench bench;
  EXPECT_TRUE(bench.is_http1(bench.ask_and_settle(Dialer::Purpose::upgrade)));
  EXPECT_EQ(bench.upstream->protocol(0), "http/1.1");
  // That says nothing of what it would choose.
  EXPECT_EQ(bench.endpoint().shared()->mode(), Shared::Mode::unknown);
}

TEST(SharedTls, ConnectionsAheadOfNeedAreMadeOnlyWhereHttp1IsSpoken) {
  TlsBench bench(config::Protocol::auto_, {"http/1.1"});
  bench.config.spare = 2;
  EXPECT_EQ(bench.endpoint().spares(), nullptr);
  EXPECT_TRUE(bench.is_http1(bench.ask_and_settle()));
  ASSERT_NE(bench.endpoint().spares(), nullptr);
  bench.endpoint().spares()->refill(bench.limits);
  bench.run_for(Ms{50});
  EXPECT_EQ(bench.endpoint().spares()->count(), 2U);
  bench.upstream->speak({"h2"});
  EXPECT_TRUE(bench.ask_and_settle().connection->multiplexed());
  EXPECT_EQ(bench.endpoint().spares(), nullptr);
}

}  // namespace
}  // namespace hushgate::upstream
