// Clients of the TLS cases. One thread, blocking sockets: a round of requests is written on every
// connection, then a round of answers is read.
//
//   tls_load --port N [--connections 64] [--path /90] [--seconds-ms N] [--warmup-ms N]
//            [--fresh full|resumed]
//
// With --fresh each request has a connection of its own, one at a time, with a full handshake or
// one that resumes the session of the one before. Prints as http_load does, with "resumed".
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  void operator()(SSL* ssl) const {
    const int fd = SSL_get_fd(ssl);
    SSL_free(ssl);
    close(fd);
  }
};
using Connection = std::unique_ptr<SSL, Free>;

// The newest session that a server has given.
std::unique_ptr<SSL_SESSION, Free> session;

int keep(SSL*, SSL_SESSION* given) {
  session.reset(given);
  return 1;
}

class Load {
 public:
  explicit Load(const Arguments& arguments)
      : port_(static_cast<std::uint16_t>(arguments.number("port"))),
        fresh_(arguments.text("fresh", "")),
        context_(SSL_CTX_new(TLS_client_method())),
        request_("GET " + arguments.text("path", "/90") + " HTTP/1.1\r\nHost: bench.test\r\n" +
                 (fresh_.empty() ? "" : "Connection: close\r\n") + "\r\n") {
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_session_cache_mode(context_.get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    if (fresh_ == "resumed") SSL_CTX_sess_set_new_cb(context_.get(), keep);
    if (!fresh_.empty()) return;
    for (std::uint64_t i = arguments.number("connections", 64); i > 0; --i) {
      connections_.push_back(open());
    }
  }

  struct Tally {
    std::uint64_t answered = 0;
    std::uint64_t resumed = 0;
    std::uint64_t ns = 0;
    std::vector<double> us;
  };

  Tally run(std::uint64_t ns) {
    Tally tally;
    const std::uint64_t begin = now_ns();
    while (now_ns() - begin < ns) {
      if (fresh_.empty()) {
        round(tally);
      } else {
        one(tally);
      }
    }
    tally.ns = now_ns() - begin;
    return tally;
  }

 private:
  Connection open() {
    const int fd = connect_to(port_);
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) die("fcntl");
    SSL* const ssl = SSL_new(context_.get());
    SSL_set_fd(ssl, fd);
    if (session && fresh_ == "resumed") SSL_set_session(ssl, session.get());
    if (SSL_connect(ssl) != 1) die("the handshake failed");
    return Connection(ssl);
  }

  void ask(SSL* ssl) {
    if (SSL_write(ssl, request_.data(), static_cast<int>(request_.size())) <= 0) die("SSL_write");
  }

  // To the end of one answer with a Content-Length.
  void read_answer(SSL* ssl) {
    std::size_t have = 0;
    std::size_t whole = 0;
    std::string head;
    while (whole == 0 || have < whole) {
      const int got = SSL_read(ssl, bytes_.data(), static_cast<int>(bytes_.size()));
      if (got <= 0) die("an answer was cut");
      have += static_cast<std::size_t>(got);
      if (whole > 0) continue;
      head.append(bytes_.data(), static_cast<std::size_t>(got));
      const std::size_t end = head.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      std::string lower = head.substr(0, end);
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      const std::size_t at = lower.find("content-length: ");
      if (at == std::string::npos || lower.find(" 200") == std::string::npos) die("no 200");
      whole = end + 4 + std::stoul(lower.substr(at + 16));
    }
  }

  void round(Tally& tally) {
    const std::uint64_t begin = now_ns();
    for (const Connection& connection : connections_) ask(connection.get());
    for (const Connection& connection : connections_) {
      read_answer(connection.get());
      tally.us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
    }
    tally.answered += connections_.size();
  }

  void one(Tally& tally) {
    const std::uint64_t begin = now_ns();
    const Connection connection = open();
    ask(connection.get());
    read_answer(connection.get());
    tally.resumed += SSL_session_reused(connection.get()) == 1;
    ++tally.answered;
    tally.us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
    SSL_shutdown(connection.get());
  }

  std::uint16_t port_;
  std::string fresh_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::string request_;
  std::vector<Connection> connections_;
  std::array<char, 65'536> bytes_{};
};

void report(Load::Tally& tally) {
  std::sort(tally.us.begin(), tally.us.end());
  const auto quantile = [&](double part) {
    return tally.us.empty()
               ? 0.0
               : tally
                     .us[static_cast<std::size_t>(part * static_cast<double>(tally.us.size() - 1))];
  };
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(),
                "{\"due\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"failed\":0,\"resumed\":%" PRIu64
                ",\"seconds\":%.6f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f}",
                tally.answered, tally.answered, tally.resumed, static_cast<double>(tally.ns) / 1e9,
                quantile(0.5), quantile(0.99), quantile(0.999));
  say(line.data());
}

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  using namespace hushgate::bench;
  const Arguments arguments(argc, argv);
  Load load(arguments);
  load.run(arguments.number("warmup-ms", 100) * kNsPerMs);
  say("ready");
  if (!wait_for_line()) return 1;
  Load::Tally tally = load.run(arguments.number("seconds-ms", 1'000) * kNsPerMs);
  report(tally);
  return 0;
}
