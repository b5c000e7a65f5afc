// One connection of the load: at most one request at a time on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/head.h"
#include "bench/load/tools.h"

namespace hushgate::bench {

// The request that every client repeats, and where to.
struct Request {
  std::uint16_t port = 0;
  std::string head_and_small_body;  // what one send takes
  std::uint64_t filler_bytes = 0;   // of a large body, behind it
  bool fresh = false;               // a new connection each; it ends with the server's FIN
};

enum class Progress : std::uint8_t {
  waiting,
  answered,  // the whole answer is here; of a fresh connection, it is closed too
  failed,    // it ended early, or the status was not 200; the next request will connect anew
};

class Client {
 public:
  Client(const Request& request, const Poller& poller, std::vector<char>& scratch)
      : request_(request), poller_(poller), scratch_(scratch) {}
  Client(const Client&) = delete;
  Client(Client&&) = delete;

  // `intended_ns`: what its latency counts from.
  void start(std::uint64_t intended_ns);
  Progress step(std::uint32_t events);

  bool busy() const { return busy_; }
  std::uint64_t intended_ns() const { return intended_ns_; }
  // When the last byte of the answer was here.
  std::uint64_t answered_ns() const { return answered_ns_; }
  // Connections that the gateway closed between two requests.
  std::uint64_t reconnects() const { return reconnects_; }

 private:
  void connect();
  void disconnect();
  void send_more();
  Progress receive();
  Progress take(std::string_view bytes);
  Progress end(Progress how);

  const Request& request_;
  const Poller& poller_;
  std::vector<char>& scratch_;  // what is received and need not be kept; shared by all
  int fd_ = -1;
  bool busy_ = false;
  bool in_body_ = false;
  bool answered_ = false;
  bool ok_ = false;
  bool wants_out_ = false;
  std::size_t head_left_ = 0;
  std::uint64_t filler_left_ = 0;
  std::string head_;  // of an answer that has not come whole
  BodyCounter body_;
  std::uint64_t intended_ns_ = 0;
  std::uint64_t answered_ns_ = 0;
  std::uint64_t reconnects_ = 0;
};

}  // namespace hushgate::bench
