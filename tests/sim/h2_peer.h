// A scripted end of an HTTP/2 connection, above a Party: it answers SETTINGS and PING and keeps to
// windows, and does everything else when it is told to. What the gateway does wrong fails the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/h2_frames.h"
#include "tests/sim/world.h"

namespace hushgate::sim {

// One stream as its script sees it.
struct H2Stream {
  std::uint32_t id = 0;
  Time opened{};                   // its first frame, of either side
  Fields head{};                   // the request's, or the final response's
  std::vector<Fields> interims{};  // responses of 1xx
  std::string body{};
  Fields trailers{};
  bool has_head = false;
  bool ended = false;  // END_STREAM has come
  Time ended_at{};
  std::optional<Code> reset{};  // the gateway's RST_STREAM
  Time reset_at{};
  bool reset_by_us = false;
  bool takes = true;         // gives the stream's window back as its bytes come
  std::int64_t granted = 0;  // that the gateway may still send
  std::int64_t room = 0;     // that we may still send
  std::size_t sent = 0;      // bytes of DATA that we have

  int status() const {
    const std::string text = value_of(head, ":status");
    return text.empty() ? 0 : std::stoi(text);
  }
  std::string path() const { return value_of(head, ":path"); }
  // Nothing more comes.
  bool over() const { return ended || reset.has_value() || reset_by_us; }

 private:
  friend class H2Peer;
  std::string waiting;  // DATA for which there was no room
  bool ends = false;    // END_STREAM behind it
  bool sent_end = false;
  Fields last_fields;  // trailers
};

enum class Last : std::uint8_t { no, yes };  // whether END_STREAM goes with it

class H2Peer {
 public:
  enum class Role : std::uint8_t { client, server };

  struct Manner {
    std::optional<std::uint32_t> max_streams{};  // of the gateway's, for servers
    std::uint32_t window = kUsualWindow;         // of each stream
    bool updates = true;  // the connection's window is given back as its bytes come
    bool extended_connect = false;
    bool pongs = true;
  };

  // Says its preface and SETTINGS at once.
  H2Peer(const io::SimNetwork& network, Party& party, Role role, const Manner& manner)
      : network_(network), party_(party), role_(role), manner_(manner) {
    std::vector<std::pair<std::uint16_t, std::uint32_t>> settings{{kInitialWindow, manner.window}};
    if (manner.max_streams) settings.emplace_back(kMaxStreams, *manner.max_streams);
    if (manner.extended_connect) settings.emplace_back(kExtendedConnect, 1);
    raw((role == Role::client ? std::string(kPreface) : std::string()) + settings_frame(settings));
  }
  H2Peer(const H2Peer&) = delete;

  // In the network's step.
  std::function<void(H2Peer&, H2Stream&)> on_head;     // a request's, or a final response's
  std::function<void(H2Peer&, H2Stream&)> on_message;  // its END_STREAM has come
  std::function<void(H2Peer&, H2Stream&)> on_data;
  std::function<void(H2Peer&, H2Stream&)> on_reset;

  Party& party() { return party_; }
  std::map<std::uint32_t, H2Stream>& streams() { return streams_; }
  H2Stream& at(std::uint32_t stream) { return streams_.at(stream); }
  // The n-th stream, from 0.
  H2Stream& nth(std::size_t n) { return std::next(streams_.begin(), static_cast<long>(n))->second; }
  std::size_t count() const { return streams_.size(); }
  std::size_t open_count() const {
    return static_cast<std::size_t>(std::ranges::count_if(streams_, [](const auto& entry) {
      return !entry.second.over() ||
             !(entry.second.sent_end || entry.second.reset || entry.second.reset_by_us);
    }));
  }
  std::uint32_t highest() const { return streams_.empty() ? 0 : streams_.rbegin()->first; }

  // The gateway's GOAWAYs, in their order.
  struct GoAway {
    std::uint32_t last;
    Code code;
    Time at;
  };
  const std::vector<GoAway>& goaways() const { return goaways_; }
  bool told_to_calm() const {
    return std::ranges::any_of(goaways_,
                               [](const GoAway& it) { return it.code == Code::enhance_your_calm; });
  }
  std::size_t pings() const { return pings_; }  // that came and wanted an answer
  std::size_t settings_acks() const { return settings_acks_; }
  std::uint32_t max_streams() const { return max_streams_; }  // that the gateway allows

  // --- what it says

  void raw(std::string_view bytes) { party_.send(bytes); }

  // A new stream; of a client.
  H2Stream& ask(const Fields& fields, Last last = Last::yes) {
    H2Stream& stream = open(next_id_);
    next_id_ += 2;
    headers(stream.id, fields, last);
    return stream;
  }
  void headers(std::uint32_t stream, const Fields& fields, Last last) {
    const std::string block = hpack_.pack(fields);
    const std::uint8_t end = last == Last::yes ? kEndStream : 0;
    const bool one = block.size() <= kFrameBytes;
    std::string text =
        Frame{FrameType::headers, static_cast<std::uint8_t>(end | (one ? kEndHeaders : 0)), stream,
              block.substr(0, kFrameBytes)}
            .text();
    for (std::size_t at = kFrameBytes; at < block.size(); at += kFrameBytes) {
      const std::uint8_t flags = at + kFrameBytes >= block.size() ? kEndHeaders : 0;
      text += Frame{FrameType::continuation, flags, stream, block.substr(at, kFrameBytes)}.text();
    }
    raw(text);
    if (last == Last::yes) at(stream).sent_end = true;
  }
  std::string pack(const Fields& fields) { return hpack_.pack(fields); }
  // DATA, as the gateway's windows allow.
  void data(std::uint32_t stream, std::string_view bytes, Last last) {
    H2Stream& it = at(stream);
    it.waiting += bytes;
    it.ends = it.ends || last == Last::yes;
    push(it);
  }
  void trailers(std::uint32_t stream, const Fields& fields) {
    H2Stream& it = at(stream);
    it.last_fields = fields;
    it.ends = true;
    push(it);
  }
  // A whole response.
  void answer(H2Stream& stream, int status, std::string_view body, Fields more = {}) {
    Fields fields{{":status", std::to_string(status)}};
    fields.insert(fields.end(), more.begin(), more.end());
    headers(stream.id, fields, Last::no);
    data(stream.id, body, Last::yes);
  }
  void reset(std::uint32_t stream, Code code) {
    at(stream).reset_by_us = true;
    at(stream).waiting.clear();
    raw(reset_frame(stream, code));
  }
  void go_away(std::uint32_t last, Code code = Code::no_error) { raw(goaway_frame(last, code)); }
  // Opens a window.
  void grant(std::uint32_t stream, std::uint32_t more) {
    (stream == 0 ? granted_ : at(stream).granted) += more;
    raw(window_frame(stream, more));
  }
  void ping() { raw(Frame{.type = FrameType::ping, .payload = std::string(8, 'p')}.text()); }
  std::size_t pongs() const { return pongs_; }

  bool unsent(std::uint32_t stream) { return !at(stream).waiting.empty(); }

  // Of the party, whenever bytes have come.
  void hear() {
    in_ += std::exchange(party_.got, {});
    if (role_ == Role::server && !greeted_) {
      if (in_.size() < kPreface.size()) return;
      EXPECT_TRUE(in_.starts_with(kPreface)) << "no preface: " << in_.substr(0, 24);
      in_.erase(0, kPreface.size());
      greeted_ = true;
    }
    while (std::optional<Frame> frame = next_frame(in_)) take(*frame);
  }

 private:
  H2Stream& open(std::uint32_t id) {
    H2Stream& stream = streams_[id];
    stream.id = id;
    stream.opened = network_.now();
    // Until it has seen our SETTINGS, the gateway goes by the usual ones (section 6.9.2).
    stream.granted = settings_acks_ == 0 ? kUsualWindow : manner_.window;
    stream.room = initial_room_;
    return stream;
  }

  void push(H2Stream& stream) {
    while (!stream.sent_end && !stream.reset && !stream.reset_by_us) {
      const std::int64_t room = std::min({room_, stream.room, std::int64_t{kFrameBytes}});
      const std::size_t size = std::min(stream.waiting.size(),
                                        static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
      const bool all = size == stream.waiting.size();
      const bool end = stream.ends && all;
      if (size == 0 && !end) return;
      const bool ends_here = end && stream.last_fields.empty();
      if (size > 0 || ends_here) {
        raw(Frame{FrameType::data, ends_here ? kEndStream : std::uint8_t{0}, stream.id,
                  stream.waiting.substr(0, size)}
                .text());
      }
      stream.waiting.erase(0, size);
      room_ -= static_cast<std::int64_t>(size);
      stream.room -= static_cast<std::int64_t>(size);
      stream.sent += size;
      if (!end) continue;
      stream.sent_end = true;
      if (!ends_here) headers(stream.id, stream.last_fields, Last::yes);
    }
  }
  void push_all() {
    for (auto& [id, stream] : streams_) push(stream);
  }

  void take(const Frame& frame) {
    EXPECT_LE(frame.payload.size(), kFrameBytes);
    EXPECT_TRUE(block_of_ == 0 || frame.type == FrameType::continuation) << "within a header block";
    switch (frame.type) {
      case FrameType::data: return take_data(frame);
      case FrameType::headers: return take_headers(frame);
      case FrameType::continuation: return take_block(frame.payload, frame.has(kEndHeaders));
      case FrameType::reset: return take_reset(frame);
      case FrameType::settings: return take_settings(frame);
      case FrameType::ping: return take_ping(frame);
      case FrameType::goaway:
        goaways_.push_back(
            {number_in(frame.payload, 0, 4), Code{number_in(frame.payload, 4, 4)}, network_.now()});
        return;
      case FrameType::window_update: return take_window(frame);
      case FrameType::priority:
      case FrameType::push: break;
    }
    ADD_FAILURE() << "a frame of type " << static_cast<int>(frame.type);
  }

  void take_data(const Frame& frame) {
    H2Stream& stream = known(frame.stream);
    EXPECT_TRUE(stream.has_head) << "DATA before a head on " << frame.stream;
    EXPECT_FALSE(stream.ended || stream.reset) << "DATA behind the end of " << frame.stream;
    const auto size = static_cast<std::int64_t>(frame.payload.size());
    EXPECT_LE(size, granted_) << "beyond the connection's window";
    if (!stream.reset_by_us)
      EXPECT_LE(size, stream.granted) << "beyond the window of " << frame.stream;
    granted_ -= size;
    stream.granted -= size;
    stream.body += content(frame);
    if (size > 0 && manner_.updates) grant(0, static_cast<std::uint32_t>(size));
    if (frame.has(kEndStream)) return end(stream);
    if (size > 0 && stream.takes && !stream.over())
      grant(stream.id, static_cast<std::uint32_t>(size));
    if (on_data) on_data(*this, stream);
  }

  void take_headers(const Frame& frame) {
    block_of_ = frame.stream;
    block_ends_ = frame.has(kEndStream);
    block_.clear();
    take_block(content(frame), frame.has(kEndHeaders));
  }
  void take_block(std::string_view part, bool whole) {
    EXPECT_NE(block_of_, 0U);
    block_ += part;
    if (!whole) return;
    const std::uint32_t id = std::exchange(block_of_, 0);
    take_fields(id, hpack_.unpack(block_), block_ends_);
  }
  void take_fields(std::uint32_t id, Fields fields, bool ends) {
    check(fields);
    if (!streams_.contains(id)) {
      EXPECT_TRUE(role_ == Role::server && id % 2 == 1 && id > highest()) << "stream " << id;
      open(id);
      check_count();
    }
    H2Stream& stream = at(id);
    EXPECT_FALSE(stream.ended || stream.reset) << "HEADERS behind the end of " << id;
    const std::string status = value_of(fields, ":status");
    if (status.starts_with('1')) {
      EXPECT_FALSE(ends || stream.has_head);
      stream.interims.push_back(std::move(fields));
      return;
    }
    if (stream.has_head) {
      EXPECT_TRUE(ends) << "trailers that end nothing";
      stream.trailers = std::move(fields);
      return end(stream);
    }
    stream.head = std::move(fields);
    stream.has_head = true;
    if (on_head && !stream.reset_by_us) on_head(*this, stream);
    if (ends) end(stream);
  }
  // RFC 9113 section 8.2.
  void check(const Fields& fields) const {
    bool regular = false;
    for (const auto& [name, value] : fields) {
      EXPECT_FALSE(std::ranges::any_of(name, [](char c) { return c >= 'A' && c <= 'Z'; })) << name;
      const bool pseudo = name.starts_with(':');
      EXPECT_FALSE(pseudo && regular) << name << " behind others";
      regular = regular || !pseudo;
      const bool hop = name == "connection" || name == "keep-alive" ||
                       name == "transfer-encoding" || name == "upgrade" ||
                       name == "proxy-connection" || name == "host";
      EXPECT_FALSE(hop) << name;
      EXPECT_TRUE(name != "te" || value == "trailers");
    }
  }
  void check_count() {
    if (!manner_.max_streams || settings_acks_ == 0) return;
    EXPECT_LE(open_count(), *manner_.max_streams) << "more streams than are allowed";
  }

  void end(H2Stream& stream) {
    stream.ended = true;
    stream.ended_at = network_.now();
    if (on_message && !stream.reset_by_us) on_message(*this, stream);
  }

  void take_reset(const Frame& frame) {
    H2Stream& stream = known(frame.stream);
    stream.reset = Code{number_in(frame.payload, 0, 4)};
    stream.reset_at = network_.now();
    stream.waiting.clear();
    if (on_reset) on_reset(*this, stream);
  }
  void take_settings(const Frame& frame) {
    if (frame.has(kAck)) return take_settings_ack();
    for (std::size_t at = 0; at + 6 <= frame.payload.size(); at += 6) {
      const std::uint32_t value = number_in(frame.payload, at + 2, 4);
      const std::uint32_t id = number_in(frame.payload, at, 2);
      if (id == kMaxStreams) max_streams_ = value;
      if (id != kInitialWindow) continue;
      for (auto& [key, stream] : streams_) stream.room += value - initial_room_;
      initial_room_ = value;
    }
    raw(Frame{.type = FrameType::settings, .flags = kAck}.text());
    push_all();
  }
  void take_settings_ack() {
    if (++settings_acks_ > 1) return;
    for (auto& [id, stream] : streams_)
      stream.granted += std::int64_t{manner_.window} - kUsualWindow;
  }
  void take_ping(const Frame& frame) {
    if (frame.has(kAck)) {
      ++pongs_;
      return;
    }
    ++pings_;
    if (manner_.pongs) raw(Frame{FrameType::ping, kAck, 0, frame.payload}.text());
  }
  void take_window(const Frame& frame) {
    const std::uint32_t more = number_in(frame.payload, 0, 4);
    EXPECT_GT(more, 0U);
    if (frame.stream != 0) {
      H2Stream& stream = known(frame.stream);
      stream.room += more;
      return push(stream);
    }
    room_ += more;
    push_all();
  }
  H2Stream& known(std::uint32_t id) {
    EXPECT_TRUE(streams_.contains(id)) << "a frame of stream " << id << ", which is idle";
    return streams_[id];
  }

  const io::SimNetwork& network_;
  Party& party_;
  Role role_;
  Manner manner_;
  Hpack hpack_;
  std::string in_;
  bool greeted_ = false;
  std::map<std::uint32_t, H2Stream> streams_;
  std::uint32_t next_id_ = 1;
  std::int64_t granted_ = kUsualWindow;  // of the connection, to the gateway
  std::int64_t room_ = kUsualWindow;     // of the connection, to us
  std::int64_t initial_room_ = kUsualWindow;
  std::uint32_t max_streams_ = ~0U;
  std::uint32_t block_of_ = 0;  // a header block of this stream has begun
  bool block_ends_ = false;
  std::string block_;
  std::vector<GoAway> goaways_;
  std::size_t pings_ = 0, pongs_ = 0, settings_acks_ = 0;
};

}  // namespace hushgate::sim
