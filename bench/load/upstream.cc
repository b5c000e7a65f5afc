// The upstream of every HTTP case: answers any request whose path is a number with that many bytes,
// takes bodies of any size, and costs next to nothing.
//
//   upstream [--close 1]     with --close it ends every connection after its first answer
//
// GET /stats answers {"accepted":N,"requests":N}: whether a gateway opened a connection for each.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/head.h"
#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::size_t kPieceBytes = 262'144;
constexpr std::size_t kOneSendBytes = 65'536;  // an answer up to this size is kept with its head

struct Connection {
  int fd = -1;
  std::string head;  // of a request that has not come whole
  BodyCounter body;  // of the request that is coming
  bool in_body = false;
  std::uint64_t asked = 0;   // bytes of the answer
  bool close = false;        // after this answer
  std::string out;           // of the answer: what is left of its head, or of all of it
  std::uint64_t filler = 0;  // of the answer: bytes behind `out`
  bool blocked = false;
};

class Upstream {
 public:
  explicit Upstream(bool close) : close_(close), filler_(kPieceBytes, 'x') {
    in_.resize(kPieceBytes);
  }

  [[noreturn]] void run() {
    serve_events(
        poller_, [this](int listener) { accept_all(listener); },
        [this](void* data, std::uint32_t events) { step(*static_cast<Connection*>(data), events); },
        [this] { gone_.clear(); });
  }

 private:
  void accept_all(int listener) {
    for (int fd = accept_one(listener); fd >= 0; fd = accept_one(listener)) {
      auto connection = std::make_unique<Connection>();
      connection->fd = fd;
      poller_.add(fd, EPOLLIN, connection.get());
      if (connections_.size() <= static_cast<std::size_t>(fd))
        connections_.resize(static_cast<std::size_t>(fd) + 1);
      connections_[static_cast<std::size_t>(fd)] = std::move(connection);
      ++accepted_;
    }
  }

  void step(Connection& connection, std::uint32_t events) {
    if (connection.fd < 0) return;
    if (connection.blocked) {
      if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) send_more(connection);
      return;
    }
    const ssize_t got = recv(connection.fd, in_.data(), in_.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return drop(connection);
    take(connection, {in_.data(), static_cast<std::size_t>(got)});
  }

  void take(Connection& connection, std::string_view bytes) {
    while (!bytes.empty() && connection.fd >= 0) {
      if (!connection.in_body) {
        std::string_view head;
        if (!next_head(connection.head, bytes, head)) return;
        begin(connection, head);
        connection.head.clear();
      }
      bytes.remove_prefix(connection.body.take(bytes));
      if (!connection.body.done()) return;
      connection.in_body = false;
      answer(connection);
    }
  }

  void begin(Connection& connection, std::string_view head) {
    connection.body = BodyCounter::of(head);
    connection.in_body = true;
    connection.close = close_ || field_holds(head, "connection", "close");
    const std::size_t path = head.find('/') + 1;
    connection.asked = 0;
    std::from_chars(head.data() + path, head.data() + head.size(), connection.asked);
    if (head.substr(path).starts_with("stats")) connection.asked = kStats;
  }

  void answer(Connection& connection) {
    if (connection.asked == kStats) {
      const std::string body = "{\"accepted\":" + std::to_string(accepted_) +
                               ",\"requests\":" + std::to_string(requests_) + "}";
      connection.out = answer_head(body.size(), connection.close) + body;
    } else {
      ++requests_;
      if (connection.asked <= kOneSendBytes) {
        const std::string& whole = small_answer(connection.asked, connection.close);
        // Nearly always the kernel takes it all at once.
        const ssize_t sent = send(connection.fd, whole.data(), whole.size(), 0);
        const std::size_t done = sent > 0 ? static_cast<std::size_t>(sent) : 0;
        if (done == whole.size()) return finish(connection);
        connection.out = whole.substr(done);
      } else {
        connection.out = answer_head(connection.asked, connection.close);
        connection.filler = connection.asked;
      }
    }
    send_more(connection);
  }

  void send_more(Connection& connection) {
    while (!connection.out.empty() || connection.filler > 0) {
      const bool head = !connection.out.empty();
      const char* const data = head ? connection.out.data() : filler_.data();
      const std::size_t size =
          head ? connection.out.size() : std::min<std::uint64_t>(connection.filler, kPieceBytes);
      const ssize_t sent =
          send(connection.fd, data, size, head && connection.filler > 0 ? MSG_MORE : 0);
      if (sent < 0) {
        if (errno != EAGAIN) return drop(connection);
        if (!connection.blocked) poller_.change(connection.fd, EPOLLOUT, &connection);
        connection.blocked = true;
        return;
      }
      if (head) {
        connection.out.erase(0, static_cast<std::size_t>(sent));
      } else {
        connection.filler -= static_cast<std::uint64_t>(sent);
      }
    }
    if (connection.blocked) poller_.change(connection.fd, EPOLLIN, &connection);
    connection.blocked = false;
    finish(connection);
  }

  void finish(Connection& connection) {
    if (connection.close) drop(connection);
  }

  // Freed behind the events of this turn, some of which may still name it.
  void drop(Connection& connection) {
    close(connection.fd);
    gone_.push_back(std::move(connections_[static_cast<std::size_t>(connection.fd)]));
    connection.fd = -1;
  }

  static std::string answer_head(std::uint64_t bytes, bool close) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(bytes) + (close ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n");
  }

  const std::string& small_answer(std::uint64_t bytes, bool close) {
    std::string& kept = small_[close ? 1 : 0][bytes];
    if (kept.empty()) {
      std::string body = "{\"ok\":true,\"data\":\"";
      body.resize(std::max<std::size_t>(bytes, body.size() + 2), 'x');
      body.replace(body.size() - 2, 2, "\"}");
      kept = answer_head(body.size(), close) + body;
    }
    return kept;
  }

  static constexpr std::uint64_t kStats = ~std::uint64_t{0};

  bool close_;
  Poller poller_;
  std::string filler_;
  std::vector<char> in_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<std::unique_ptr<Connection>> gone_;
  std::map<std::uint64_t, std::string> small_[2];
  std::uint64_t accepted_ = 0;
  std::uint64_t requests_ = 0;
};

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  const hushgate::bench::Arguments arguments(argc, argv);
  hushgate::bench::Upstream(arguments.number("close", 0) != 0).run();
}
