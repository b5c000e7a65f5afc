// The upstream of the HTTP/2 cases: as `upstream`, in HTTP/2 from the first byte. Any number of
// streams on each connection, windows that never shut.
//
//   h2_upstream [--streams 1000]     streams at a time and connection
//
// GET /stats in HTTP/1.1 answers {"accepted":N,"requests":N}, without itself.
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::size_t kPieceBytes = 262'144;
constexpr std::int32_t kWindowBytes = 0x3fff'ffff;

struct Free {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  void operator()(nghttp2_session_callbacks* calls) const { nghttp2_session_callbacks_del(calls); }
};

class Upstream;

struct Connection {
  Upstream* upstream = nullptr;
  int fd = -1;
  std::unique_ptr<nghttp2_session, Free> session;
  std::string out;  // frames that the kernel has not taken
  bool begun = false;
  bool blocked = false;
};

// A request's path is its number of bytes; it is kept as the stream's user data, which becomes what
// is left to send.
void* as_data(std::uint64_t bytes) { return reinterpret_cast<void*>(bytes); }

int note_field(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
               std::uint8_t, void*) {
  const std::string_view field(reinterpret_cast<const char*>(name), name_size);
  if (field != ":path" || value_size < 1) return 0;
  std::uint64_t bytes = 0;
  const char* const path = reinterpret_cast<const char*>(value);
  std::from_chars(path + 1, path + value_size, bytes);
  nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, as_data(bytes));
  return 0;
}

ssize_t fill(nghttp2_session* session, std::int32_t stream, std::uint8_t* out, std::size_t room,
             std::uint32_t* flags, nghttp2_data_source*, void*) {
  const auto left =
      reinterpret_cast<std::uint64_t>(nghttp2_session_get_stream_user_data(session, stream));
  const std::size_t size = std::min<std::uint64_t>(left, room);
  std::memset(out, 'x', size);
  nghttp2_session_set_stream_user_data(session, stream, as_data(left - size));
  if (left == size) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(size);
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

int answer(nghttp2_session* session, const nghttp2_frame* frame, void* self);

class Upstream {
 public:
  explicit Upstream(std::uint32_t streams) : streams_(streams), in_(kPieceBytes) {
    nghttp2_session_callbacks* calls = nullptr;
    if (nghttp2_session_callbacks_new(&calls) != 0) die("nghttp2");
    calls_.reset(calls);
    nghttp2_session_callbacks_set_on_header_callback(calls, note_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, answer);
  }

  [[noreturn]] void run() {
    serve_events(
        poller_, [this](int listener) { accept_all(listener); },
        [this](void* data, std::uint32_t events) { step(*static_cast<Connection*>(data), events); },
        [this] { gone_.clear(); });
  }

  void count_request() { ++requests_; }

 private:
  void accept_all(int listener) {
    for (int fd = accept_one(listener); fd >= 0; fd = accept_one(listener)) {
      auto connection = std::make_unique<Connection>();
      connection->upstream = this;
      connection->fd = fd;
      poller_.add(fd, EPOLLIN, connection.get());
      const auto at = static_cast<std::size_t>(fd);
      if (connections_.size() <= at) connections_.resize(at + 1);
      connections_[at] = std::move(connection);
    }
  }

  void step(Connection& connection, std::uint32_t events) {
    if (connection.fd < 0) return;
    if (connection.blocked) {
      if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) send_frames(connection);
      return;
    }
    const ssize_t got = recv(connection.fd, in_.data(), in_.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return drop(connection);
    if (!connection.begun && !begin(connection)) return tell(connection);
    const ssize_t taken = nghttp2_session_mem_recv(
        connection.session.get(), reinterpret_cast<const std::uint8_t*>(in_.data()),
        static_cast<std::size_t>(got));
    if (taken < 0) return drop(connection);
    send_frames(connection);
  }

  // False: it does not begin as HTTP/2.
  bool begin(Connection& connection) {
    if (in_[0] != 'P') return false;
    nghttp2_session* session = nullptr;
    if (nghttp2_session_server_new(&session, calls_.get(), &connection) != 0) die("nghttp2");
    connection.session.reset(session);
    connection.begun = true;
    ++accepted_;
    const std::array<nghttp2_settings_entry, 2> settings{
        {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_},
         {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, std::uint32_t{kWindowBytes}}}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
    return true;
  }

  void tell(Connection& connection) {
    const std::string body = "{\"accepted\":" + std::to_string(accepted_) +
                             ",\"requests\":" + std::to_string(requests_) + "}";
    const std::string text =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    if (send(connection.fd, text.data(), text.size(), 0) < 0) die("send");
    drop(connection);
  }

  void send_frames(Connection& connection) {
    for (;;) {
      while (connection.out.size() < kPieceBytes) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t size = nghttp2_session_mem_send(connection.session.get(), &bytes);
        if (size < 0) return drop(connection);
        if (size == 0) break;
        connection.out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
      }
      if (connection.out.empty()) break;
      const ssize_t sent = send(connection.fd, connection.out.data(), connection.out.size(), 0);
      if (sent < 0) {
        if (errno != EAGAIN) return drop(connection);
        if (!connection.blocked) poller_.change(connection.fd, EPOLLOUT, &connection);
        connection.blocked = true;
        return;
      }
      connection.out.erase(0, static_cast<std::size_t>(sent));
    }
    if (connection.blocked) poller_.change(connection.fd, EPOLLIN, &connection);
    connection.blocked = false;
  }

  // Freed behind the events of this turn, some of which may still name it.
  void drop(Connection& connection) {
    close(connection.fd);
    gone_.push_back(std::move(connections_[static_cast<std::size_t>(connection.fd)]));
    connection.fd = -1;
  }

  std::uint32_t streams_;
  Poller poller_;
  std::unique_ptr<nghttp2_session_callbacks, Free> calls_;
  std::vector<char> in_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<std::unique_ptr<Connection>> gone_;
  std::uint64_t accepted_ = 0;
  std::uint64_t requests_ = 0;
};

int answer(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
  const bool message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (!message || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  static_cast<Connection*>(self)->upstream->count_request();
  const std::int32_t stream = frame->hd.stream_id;
  const std::string length = std::to_string(
      reinterpret_cast<std::uint64_t>(nghttp2_session_get_stream_user_data(session, stream)));
  const std::array<nghttp2_nv, 3> fields{field(":status", "200"),
                                         field("content-type", "application/json"),
                                         field("content-length", length)};
  nghttp2_data_provider body{};
  body.read_callback = fill;
  return nghttp2_submit_response(session, stream, fields.data(), fields.size(), &body);
}

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  const hushgate::bench::Arguments arguments(argc, argv);
  const std::uint64_t streams = arguments.number("streams", 1'000);
  hushgate::bench::Upstream(static_cast<std::uint32_t>(streams)).run();
}
