// For tests: an upstream's program that speaks HTTP/2 as it is told to, on the simulated network.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "upstream/shared.h"
#include "upstream/testing.h"

namespace hushgate::upstream::testing {

struct Http2Manners {
  std::uint32_t max_streams = 1'000;
  bool extended_connect = false;
  bool answers_pings = true;
  bool responds = false;  // to each request, once it is whole
  bool sends_settings = true;
};

// One connection of it.
class Http2Peer {
 public:
  Http2Peer(std::unique_ptr<io::SimPeer> peer, const Http2Manners& manners)
      : peer_(std::move(peer)), responds_(manners.responds) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
            static_cast<Http2Peer*>(self)->streams.push_back(frame->hd.stream_id);
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          static_cast<Http2Peer*>(self)->note(*frame);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t stream,
                      const std::uint8_t* bytes, std::size_t size, void* self) {
          static_cast<Http2Peer*>(self)->bodies[stream].append(reinterpret_cast<const char*>(bytes),
                                                               size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* self) {
          static_cast<Http2Peer*>(self)
              ->fields[frame->hd.stream_id]
              .append(reinterpret_cast<const char*>(name), name_size)
              .append(": ")
              .append(reinterpret_cast<const char*>(value), value_size)
              .append("\n");
          return 0;
        });
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_ping_ack(option, manners.answers_pings ? 0 : 1);
    nghttp2_session_server_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    if (manners.sends_settings) send_settings(manners);
    peer_->on_change = [this] { look(); };
    look();
  }
  Http2Peer(const Http2Peer&) = delete;
  Http2Peer& operator=(const Http2Peer&) = delete;
  ~Http2Peer() { nghttp2_session_del(session_); }

  std::vector<std::int32_t> streams{};             // in the order of their coming
  std::map<std::int32_t, std::uint32_t> resets{};  // RST_STREAM: stream -> code
  std::map<std::int32_t, std::string> fields{};    // "name: value\n" each, trailers behind them
  std::map<std::int32_t, std::string> bodies{};    // what has come of each stream's
  std::vector<std::int32_t> complete{};            // requests that have come whole
  int pings = 0;
  int goaways = 0;
  bool failed = false;    // the connection was reset
  bool finished = false;  // ... or has ended in order
  bool deaf = false;      // nothing is read

  void send_settings(const Http2Manners& manners) {
    const std::array<nghttp2_settings_entry, 2> entries{
        {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, manners.max_streams},
         {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, manners.extended_connect ? 1U : 0U}}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
    send();
  }
  void respond(std::int32_t stream) {
    with_status("204", [&](const nghttp2_nv& status) {
      nghttp2_submit_response(session_, stream, &status, 1, nullptr);
    });
  }
  void interim(std::int32_t stream, std::string value) {
    with_status(std::move(value), [&](const nghttp2_nv& status) {
      nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, &status, 1, nullptr);
    });
  }
  void reset(std::int32_t stream, std::uint32_t code) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, code);
    send();
  }
  void go_away(std::int32_t last) {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
    send();
  }
  void ping() {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    send();
  }
  void close() { peer_->close(); }
  // What had not been read before `deaf` was taken back.
  void look() {
    if (deaf || failed) return;
    if (peer_->failed()) {
      failed = true;
      return peer_->close();
    }
    const std::string bytes = peer_->receive(1'000'000);
    nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                             bytes.size());
    send();
    while (responds_ && answered_ < complete.size()) respond(complete[answered_++]);
    if (!peer_->peer_finished() || finished) return;
    finished = true;
    peer_->finish();
  }

 private:
  template <typename Submit>
  void with_status(std::string value, Submit submit) {
    std::string name = ":status";
    submit(nghttp2_nv{reinterpret_cast<std::uint8_t*>(name.data()),
                      reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    send();
  }
  void note(const nghttp2_frame& frame) {
    const bool carries = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
    if (carries && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      complete.push_back(frame.hd.stream_id);
    }
    if (frame.hd.type == NGHTTP2_RST_STREAM) {
      resets[frame.hd.stream_id] = frame.rst_stream.error_code;
    }
    if (frame.hd.type == NGHTTP2_GOAWAY) ++goaways;
    if (frame.hd.type == NGHTTP2_PING && (frame.hd.flags & NGHTTP2_FLAG_ACK) == 0) ++pings;
  }
  void send() {
    const std::uint8_t* bytes = nullptr;
    for (;;) {
      const auto size = nghttp2_session_mem_send(session_, &bytes);
      if (size <= 0) return;
      peer_->send({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
    }
  }

  std::unique_ptr<io::SimPeer> peer_;
  const bool responds_;
  std::size_t answered_ = 0;
  nghttp2_session* session_ = nullptr;
};

class Http2Server {
 public:
  Http2Server(io::SimNetwork& network, const IpPort& address)
      : listener_(std::in_place, network, network.host(address.ip), address, 1'000) {
    listener_->on_connection = [this] {
      while (std::unique_ptr<io::SimPeer> peer = listener_->accept()) {
        peers.push_back(std::make_unique<Http2Peer>(std::move(peer), manners));
      }
    };
  }
  // Connections are refused from now on.
  void stop_listening() { listener_.reset(); }

  Http2Manners manners{};  // of connections that come from now on
  std::vector<std::unique_ptr<Http2Peer>> peers{};

 private:
  std::optional<io::SimPeerListener> listener_;
};

}  // namespace hushgate::upstream::testing
