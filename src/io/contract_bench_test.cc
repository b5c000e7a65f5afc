#include "io/contract_bench.h"

#include <cstdlib>

namespace hushgate::io {
namespace {

constexpr int kPatienceTurns = 1000;
constexpr Ms kTurnWait{10};
constexpr std::size_t kFillLimitBytes = 32U << 20U;

}  // namespace

std::string pattern(std::size_t size, std::size_t offset) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((offset + i) % 251);
  return text;
}

std::uint64_t seed_in(std::string_view name) {
  const char* more = std::getenv("HUSHGATE_SIM_SEED");
  return std::stoull(std::string(name.substr(name.find_first_of("0123456789")))) +
         (more != nullptr ? std::strtoull(more, nullptr, 10) : 0);
}

void Contract::SetUp() {
  bench_ = make_bench(GetParam());
  if (const std::string reason = bench_->unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  loop_ = std::make_unique<Loop>(bench_->make_backend());
  bench_->enter(*loop_);
}

void Contract::end_loop() {
  if (loop_) bench_->leave();
  loop_.reset();
}

void Contract::TearDown() {
  if (loop_) loop_->turn(Time::min());
  end_loop();
  bench_.reset();
}

bool Contract::turn_until(const std::function<bool()>& done) {
  for (int i = 0; i < kPatienceTurns; ++i) {
    if (done()) return true;
    loop_->turn(loop_->backend().now() + kTurnWait);
  }
  return done();
}

void Contract::quiet_turns(int count) {
  for (int i = 0; i < count; ++i) loop_->turn(loop_->backend().now() + kTurnWait);
}

std::unique_ptr<Listener> Contract::listen(Acceptor& acceptor) {
  auto listener =
      loop_->backend().listen(IpPort{IpAddress::v4(127, 0, 0, 1)}, {.backlog = 512}, acceptor);
  EXPECT_TRUE(listener.has_value());
  return std::move(*listener);
}

Pair Contract::accept_pair(Runnable* owner, Window window) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  Pair pair;
  pair.peer = bench_->connect(listener->address(), window);
  EXPECT_TRUE(turn_until([&] { return acceptor.streams.size() == 1; }));
  if (acceptor.streams.empty()) return pair;
  pair.stream = std::move(acceptor.streams.front());
  pair.stream->set_owner(owner);
  return pair;
}

Pair Contract::connect_pair(Runnable* owner, Window window) {
  const auto listener = bench_->listen(window);
  Pair pair;
  auto stream = loop_->backend().connect(listener->address(), {}, owner);
  EXPECT_TRUE(stream.has_value());
  if (!stream) return pair;
  pair.stream = std::move(*stream);
  EXPECT_TRUE(turn_until([&] {
    if (!pair.peer) pair.peer = listener->accept();
    return pair.peer && !pair.stream->connecting();
  }));
  EXPECT_FALSE(pair.stream->failed());
  return pair;
}

Taken Contract::take_all(Stream& stream) {
  Taken taken;
  for (;;) {
    const Take take = stream.take();
    if (take.kind != Take::Kind::data) {
      taken.end = take.kind;
      taken.os_error = take.os_error;
      return taken;
    }
    taken.bytes += as_text(take.lease.bytes());
  }
}

Taken Contract::take_exactly(Stream& stream, std::size_t size) {
  Taken all;
  EXPECT_TRUE(turn_until([&] {
    Taken more = take_all(stream);
    all.bytes += more.bytes;
    all.end = more.end;
    all.os_error = more.os_error;
    return all.bytes.size() >= size || all.end != Take::Kind::nothing;
  }));
  return all;
}

PeerRead Contract::peer_receive(Peer& peer, std::size_t size) {
  PeerRead all;
  EXPECT_TRUE(turn_until([&] {
    for (;;) {
      PeerRead more = peer.receive(size - all.bytes.size());
      all.bytes += more.bytes;
      all.end = more.end;
      if (all.bytes.size() >= size || all.end != PeerEnd::none) return true;
      if (more.bytes.empty()) return false;
    }
  }));
  return all;
}

PeerRead Contract::peer_receive_to_end(Peer& peer) {
  PeerRead all;
  EXPECT_TRUE(turn_until([&] {
    for (;;) {
      PeerRead more = peer.receive(1U << 20U);
      all.bytes += more.bytes;
      all.end = more.end;
      if (all.end != PeerEnd::none) return true;
      if (more.bytes.empty()) return false;
    }
  }));
  return all;
}

std::size_t Contract::fill_up(Stream& stream) {
  std::size_t total = 0;
  for (int i = 0; i < 200 && stream.writable(); ++i) {
    total += fill(stream, total);
    quiet_turns(3);
  }
  EXPECT_FALSE(stream.writable());
  return total;
}

std::size_t Contract::fill(Stream& stream, std::size_t offset) {
  std::size_t total = 0;
  while (total < kFillLimitBytes && stream.writable()) {
    const std::string chunk = pattern(65'536, offset + total);
    const Bytes piece = as_bytes(chunk);
    const auto accepted = stream.write({&piece, 1});
    if (!accepted) break;
    total += *accepted;
  }
  EXPECT_LT(total, kFillLimitBytes);
  return total;
}

}  // namespace hushgate::io
