// What the io-contract suite is run on: a backend under test and scripted peers for it. One bench
// per backend; the cases (contract_*_test.cc) are the same for all and expect the same of all.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "io/backend.h"
#include "io/loop.h"
#include "io/stream.h"

namespace hushgate::io {

enum class PeerEnd : std::uint8_t { none, fin, reset };

struct PeerRead {
  std::string bytes;
  PeerEnd end = PeerEnd::none;
};

// The other end of a connection. Nothing of it waits.
class Peer {
 public:
  virtual ~Peer() = default;
  // How many bytes its kernel took.
  virtual std::size_t send(std::string_view bytes) = 0;
  // What has arrived, at most `limit` bytes; the end only when no byte lies before it.
  virtual PeerRead receive(std::size_t limit) = 0;
  virtual void finish() = 0;  // FIN, goes on reading
  virtual void close() = 0;   // as a program's end: FIN, or a reset when bytes are unread
  virtual void reset() = 0;
};

class PeerListener {
 public:
  virtual ~PeerListener() = default;
  virtual SocketAddress address() const = 0;
  virtual std::unique_ptr<Peer> accept() = 0;  // null: none queued
};

enum class Window : std::uint8_t { usual, small };  // of what the peer receives without reading

class Bench {
 public:
  virtual ~Bench() = default;
  virtual std::string unavailable() { return {}; }  // why this machine cannot run it
  virtual std::unique_ptr<Backend> make_backend() = 0;
  virtual std::unique_ptr<Peer> connect(const SocketAddress& to, Window window) = 0;
  virtual std::unique_ptr<PeerListener> listen(Window window) = 0;
  virtual std::unique_ptr<PeerListener> listen_unix() = 0;
  // What is under way between the hosts arrives, without the backend looking at it.
  virtual void deliver() = 0;
  // No descriptor can be opened until the other is called.
  virtual void exhaust_descriptors() = 0;
  virtual void restore_descriptors() = 0;
  virtual SocketAddress refused_address() = 0;
  virtual std::optional<SocketAddress> black_hole() { return std::nullopt; }
  // Connecting with these fails with EADDRNOTAVAIL at once.
  virtual ConnectOptions exhausted_source() = 0;
  // The backend is in that loop now; the loop is about to end.
  virtual void enter(Loop& /*loop*/) {}
  virtual void leave() {}
};

std::unique_ptr<Bench> make_epoll_bench();
std::unique_ptr<Bench> make_uring_bench();
std::unique_ptr<Bench> make_old_uring_bench();  // without what newer kernels brought
std::unique_ptr<Bench> make_sim_bench(std::uint64_t seed);

// What every case is run on, by name; behind "sim" stands the network's seed. Each program that
// runs the suite says its own.
std::vector<const char*> contract_backends();
std::unique_ptr<Bench> make_bench(std::string_view name);
// The number that a name ends in, and what HUSHGATE_SIM_SEED adds to look for orders that the usual
// seeds do not have.
std::uint64_t seed_in(std::string_view name);
inline std::string backend_name(const testing::TestParamInfo<const char*>& backend) {
  return backend.param;
}

class Owner final : public Runnable {
 public:
  std::function<void()> body;
  int runs = 0;
  void run() override {
    ++runs;
    if (body) body();
  }
};

class Acceptor final : public AcceptHandler {
 public:
  std::vector<StreamPtr> streams;
  int shortages = 0;
  std::function<bool()> on_shortage;
  std::function<void()> on_accept;
  void accepted(StreamPtr stream) override {
    streams.push_back(std::move(stream));
    if (on_accept) on_accept();
  }
  bool out_of_descriptors() override {
    ++shortages;
    return on_shortage ? on_shortage() : false;
  }
};

struct Pair {
  StreamPtr stream;
  std::unique_ptr<Peer> peer;
};

// What was taken of a stream until it had nothing more.
struct Taken {
  std::string bytes;
  Take::Kind end = Take::Kind::nothing;
  int os_error = 0;
};

class Contract : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  void TearDown() override;

  Loop& loop() { return *loop_; }
  void end_loop();
  Bench& bench() { return *bench_; }

  // Turns until `done`; fails the test when that takes longer than a loaded machine can excuse.
  [[nodiscard]] bool turn_until(const std::function<bool()>& done);
  // Turns that wait briefly: time for something that must not happen.
  void quiet_turns(int count = 5);

  std::unique_ptr<Listener> listen(Acceptor& acceptor);
  Pair accept_pair(Runnable* owner, Window window = Window::usual);
  Pair connect_pair(Runnable* owner, Window window = Window::usual);

  static Taken take_all(Stream& stream);
  // Reads until `size` bytes, an end, or a deadline.
  Taken take_exactly(Stream& stream, std::size_t size);
  PeerRead peer_receive(Peer& peer, std::size_t size);
  PeerRead peer_receive_to_end(Peer& peer);
  // Writes until the stream refuses, continuing the pattern at `offset`. How many bytes it took.
  static std::size_t fill(Stream& stream, std::size_t offset = 0);
  // The same until both kernels are full too.
  std::size_t fill_up(Stream& stream);

 private:
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<Loop> loop_;
};

// Bytes whose place can be seen: `offset` continues a run.
std::string pattern(std::size_t size, std::size_t offset = 0);

}  // namespace hushgate::io
