// One HTTP/2 connection: nghttp2 between the wire (an io::Stream, of TLS or not) and its legs. It
// owns the wire and is its owner in the other sense: it runs when something happened there, or when
// a leg has something to send, and at the end of its run all that could be sent is with the wire.
//
// Flow control: the connection's window is given back on receipt; a stream's when its leg's bytes
// are taken. So a leg holds at most `stream_window_bytes`, and a slow one stops nobody else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/intrusive_list.h"
#include "h2/block.h"
#include "h2/field_views.h"
#include "h2/floods.h"
#include "h2/frame_cursor.h"
#include "h2/leg.h"
#include "h2/repeat_filter.h"
#include "io/loop.h"
#include "io/runnable.h"
#include "io/stream.h"

struct nghttp2_session;
struct nghttp2_session_callbacks;
struct nghttp2_option;

namespace hushgate::h2 {

// RFC 9113 section 7.
inline constexpr std::uint32_t kNoError = 0;
inline constexpr std::uint32_t kEnhanceYourCalm = 11;

inline constexpr std::size_t kWireBytes =
    65'536;                           // frames that wait for the wire; then none are made
inline constexpr int kLinkTakes = 8;  // receives per turn

struct LinkSettings {
  std::uint32_t max_streams = 128;           // that the peer may open (clients)
  std::size_t stream_window_bytes = 65'536;  // maxBufferedBytes
  std::size_t max_head_bytes = 65'536;       // of a header block, as maxHeaderBytes counts
  std::size_t linger_bytes = 262'144;        // that are dropped behind our end
  std::size_t held_bytes = 65'536;           // of a request that may have to be sent again
  bool extended_connect = true;              // RFC 8441 is offered (clients)
};

class Link : public io::Runnable {
 public:
  enum class State : std::uint8_t {
    open,
    draining,  // GOAWAY was sent or received: no new streams, those there are go on
    closing,   // all is said, a FIN too: what comes is dropped until the peer's; no legs are left.
               // Its owner bounds that by end()
    ended,     // there is no wire any more. It is destroyed by whoever owns it
  };
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  State state() const { return state_; }
  // Neither streams nor frames: closing or ended.
  bool over() const { return state_ >= State::closing; }
  const std::string& why() const {
    return why_;
  }  // valid once over(); may be empty: an orderly end
  std::size_t legs() const { return leg_count_; }
  io::Stream& wire() { return *wire_; }  // until ended
  io::Loop& loop() { return loop_; }
  const LinkSettings& settings() const { return settings_; }
  Time last_heard() const { return last_heard_; }  // of any byte
  // Bytes that wait for the wire; its acknowledged ones so far: what a send window is measured by.
  std::size_t waiting() const { return out_.size() - out_begin_; }
  std::int64_t acknowledged();
  // A header block has begun and not ended: END_HEADERS, or a part of a frame, is missing.
  bool within_head() const { return within_head_; }

  // What has come is read in this turn, whether it has woken anybody or not.
  void look() { schedule(); }
  // Sends GOAWAY with the last stream that was seen, and what waits; no streams from now on.
  void go_away(std::uint32_t code, std::string_view why);
  // The wire ends now, and with it every leg.
  void end(io::CloseHow how, std::string_view why);

 protected:
  // `preface_bytes`: before the peer's first frame.
  Link(io::Loop& loop, io::StreamPtr wire, const LinkSettings& settings, std::size_t preface_bytes);
  ~Link();

  // Told in the run in which it happened.
  virtual void changed() = 0;                   // state, legs, waiting, within_head...
  virtual Leg* begin_leg(std::int32_t id) = 0;  // of a HEADERS that opens a stream; may be null
  virtual void leg_ready(Leg&) {}               // its first head is complete
  virtual void leg_gone(Leg&) {}                // it is being forgotten
  virtual void ponged() {}
  virtual void went_away() {}  // GOAWAY came
  virtual void settings_came() {}
  virtual void flooded(Flood) {}
  virtual void stream_left() {}  // one less is open

  void feed(Bytes bytes);
  void adopt(Leg& leg);
  void schedule();  // run() in this turn
  void run() override;

 private:
  friend class Leg;
  friend struct Callbacks;

  void read_wire();
  void write_wire();
  bool flush();
  void close_down();
  void break_off(int error);  // nghttp2's
  void lose(int os_error, std::string_view why);
  void lose_legs(int os_error);
  void consumed(std::int32_t stream, std::size_t bytes);
  void make_frames();
  void forget(Leg& leg);  // its stream is closed or its owner gone
  void note_flood(Flood kind);
  void judge(const FrameHead& head);
  void follow_block(const FrameHead& head);
  void ask_end(std::uint32_t code, std::string_view why);

 protected:
  io::Loop& loop_;
  io::StreamPtr wire_;
  const LinkSettings settings_;
  nghttp2_session* session_ = nullptr;
  State state_ = State::open;
  std::string why_;
  std::string fault_;  // in the peer's frames, the last one: of a stream or of the connection
  IntrusiveList<Leg, LegTag> legs_;
  std::size_t leg_count_ = 0;
  Floods floods_;

 private:
  FrameCursor cursor_;
  Block block_;                       // of the header block that is being received
  FieldViews sending_;                // scratch of a leg that makes a head
  RepeatFilter sent_before_;          // of the fields of heads
  std::int32_t highest_stream_ = 0;   // that was opened, by the clients' side
  std::int32_t recent_stream_ = 0;    // of recent_leg_
  Leg* recent_leg_ = nullptr;         // that was looked for last; may be null
  bool has_reset_ = false;            // a stream, by us
  std::uint32_t counted_resets_ = 0;  // made ones that were counted and not sent yet
  bool settings_fed_ = false;         // with what was read last
  std::size_t excess_bytes_ = 0;      // of the header block, beyond what block_ holds
  bool within_head_ = false;
  bool block_goes_on_ = false;              // no END_HEADERS yet
  bool in_block_frame_ = false;             // the frame that came last is of a header block
  std::optional<std::uint32_t> end_asked_;  // while frames are read: the connection is to be ended
  bool feeding_ = false;
  std::string out_;
  std::size_t out_begin_ = 0;
  std::size_t discarded_ = 0;   // while closing
  std::uint64_t written_ = 0;   // bytes of frames made so far
  std::uint64_t accepted_ = 0;  // ... that the wire has accepted
  Time last_heard_{};
};

}  // namespace hushgate::h2
