// One HTTP/2 stream as an io::Stream whose bytes are HTTP/1.1 text (the inner form of message.h).
// Whoever owns it knows nothing of frames: take() gives the peer's message, write() takes ours.
//
// Differs from a socket where a stream does:
// - A FIN is seen only where it means something: in a tunnel, once the peer has ended its part;
//   else behind our own message's end, once all of it is with the wire.
// - RST_STREAM, and the loss of the connection, is `failed`: ECONNRESET; a response that is none:
//   EBADMSG. What was received before can be taken first. RST_STREAM(NO_ERROR) behind a whole
//   response only stops our direction (EPIPE).
// - write() accepts everything while fewer than kLegBytes wait, and nothing otherwise.
// - unacknowledged() is what waits for windows and the wire, and an upper bound of what is on it.
// - After close(fin) it lives on without an owner until what was accepted is sent, at most for
//   kLegFinishTime. close(reset), and close(fin) in the middle of a message, resets the stream.
// - An orderly end, TLS and keep-alive are the wire's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/intrusive_list.h"
#include "base/recycled.h"
#include "base/result.h"
#include "h2/message.h"
#include "h2/message_reader.h"
#include "io/alarm.h"
#include "io/loop.h"
#include "io/stream.h"

struct nghttp2_session;

namespace hushgate::h2 {

class Link;
struct LegTag {};

inline constexpr std::size_t kLegBytes = 16'384;
inline constexpr std::size_t kMaxSpareLegs = 512;
inline constexpr Ms kLegFinishTime{30'000};
inline constexpr Ms kLegEndTime{1'000};  // of an END_STREAM behind a whole body

class Leg final : public io::Stream,
                  private io::Runnable,  // its finish alarm
                  private io::Lender,
                  public ListNode<LegTag>,
                  public Recycled<Leg, kMaxSpareLegs> {
 public:
  enum class Role : std::uint8_t {
    answers,  // towards a client: takes a request, writes a response
    asks,     // towards an upstream: writes a request, takes a response
  };
  // Of our direction.
  enum class Writing : std::uint8_t {
    message,   // it is being written
    complete,  // all of it is accepted; END_STREAM goes out behind it
    ended,     // END_STREAM is with the wire
    deaf,      // the peer takes no more (a whole response overtook the request)
  };
  // Of the peer's.
  enum class Reading : std::uint8_t {
    head,   // none that is final has come
    body,   // DATA is put into the inner form as `in_body_` says
    ended,  // END_STREAM
  };

  Leg(Link& link, Role role);  // see Link
  ~Leg() = default;

  io::Take take() override;
  Result<std::size_t> write(std::span<const Bytes> pieces) override;
  void finish_writing() override;
  std::size_t unacknowledged() override;
  std::size_t untaken() override { return in_.size(); }
  bool still_quiet() override { return in_.empty() && !failed(); }
  bool half_closes() const override { return tunnel_; }
  bool encrypted() const override;
  std::string failure_text() const override;
  std::string peer_subject() const override;
  std::string_view http_version() const override { return "2"; }
  void set_keep_alive(const io::KeepAlive&) override {}
  void close(io::CloseHow how) override;
  SocketAddress local() override;

  // Role::asks. The peer has proved that it did not process the request (RFC 9113 section 8.7).
  bool unprocessed() const { return unprocessed_; }
  // Everything that was written behind the request's head, or nothing: no more than `held_bytes` of
  // Link's settings is kept, and none once a response has begun.
  std::optional<std::string> take_back();

 private:
  friend class Link;
  friend struct Callbacks;
  friend class ServerLink;
  friend class ClientLink;

  static constexpr std::int32_t kNoStream = -1;

  // What the peer's frames do.
  void receive_head(const Block& block, h2::Stream stream);
  void receive_request(const Block& block, h2::Stream stream);
  void receive_response(const Block& block, h2::Stream stream);
  void receive_data(Bytes data);
  void receive_end();  // END_STREAM on DATA
  void receive_trailers(const Block& block);
  void stream_closed(std::uint32_t code);  // nghttp2 has forgotten it
  void link_lost(int os_error);

  // What goes into frames of ours.
  struct Offer {
    std::size_t bytes = 0;
    bool ends = false;  // our message ends with them
  };
  Offer offer(std::size_t most) const;
  void move(std::size_t size, std::string& to);
  void submit_trailers(nghttp2_session* session);
  void sent(std::uint64_t position, bool ends);
  void never_sent();

  Result<void> digest(Bytes bytes);  // of write()
  Result<void> use(const MessageReader::Step& step);
  Result<void> begin_request();
  Result<void> begin_response();
  Result<void> submit_head(const FieldViews& block, bool ends);
  void live_on(Ms most);
  bool has_read_all() const;
  void hold(Bytes bytes);
  void drop_held();
  void resume();
  std::size_t waiting() const { return out_.size() - out_begin_; }

  void run() override;  // nobody's leg has lived on long enough
  void break_off(std::uint32_t code, int os_error);
  void reset_stream(std::uint32_t code);
  void cut();
  void fail(int os_error, std::uint32_t code);
  void settle();  // what both directions mean for peer_finished()
  void come_to_life();
  void wake();
  bool on_wire() const;
  void give_back(std::uint32_t) noexcept override;
  void end();  // of this object
  void clear(std::uint8_t flag) { flags_ = static_cast<std::uint8_t>(flags_ & ~flag); }

  io::Loop& loop_;
  Link* link_;  // null once lost
  std::int32_t id_ = kNoStream;
  Role role_;
  Writing writing_ = Writing::message;
  Reading reading_ = Reading::head;
  Body in_body_ = Body::none;
  bool tunnel_ = false;
  bool is_connect_ = false;       // the request asked for a tunnel
  bool handed_ = false;           // whoever has it closes it; else the link ends it with its stream
  bool lent_ = false;             // `in_` is being looked at
  bool gone_ = false;             // closed, and waits for the lease's end
  bool begun_ = false;            // a response, interim or not, has begun to come
  bool data_submitted_ = false;   // nghttp2 asks for DATA of this stream
  bool deferred_ = false;         // ... once it is told that there is some
  bool begun_writing_ = false;    // a head of ours is submitted
  bool final_submitted_ = false;  // role answers: it was a final one
  bool ended_with_head_ = false;  // END_STREAM goes out on it
  bool unprocessed_ = false;
  bool peer_at_fault_ = false;  // its stream is being reset for what the peer sent
  bool holds_ = true;           // `held_` is all that was written behind the request's head
  std::uint32_t code_ = 0;      // of the RST_STREAM that failed it
  http::Method method_ = http::Method::other;
  std::string in_;             // the inner form, not taken yet
  std::uint64_t in_left_ = 0;  // Body::length: DATA that is still to come
  int interims_ = 0;           // responses of that kind that have come
  std::size_t in_credit_ = 0;  // bytes of DATA among it: the stream's window gets them back
  std::string out_;            // payload that waits for DATA frames
  std::size_t out_begin_ = 0;
  std::string held_;
  std::string protocol_;  // of an extended CONNECT
  std::string accept_;    // Sec-WebSocket-Accept
  MessageReader reader_;
  std::uint64_t payload_sent_ = 0;
  std::uint64_t wire_mark_ = 0;  // Link's position behind its last frame
  std::unique_ptr<Block> trailers_;
  std::unique_ptr<io::Alarm> finish_alarm_;
};

}  // namespace hushgate::h2
