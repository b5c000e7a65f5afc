// A client's connection at the demo's upstream: an HTTP/1.1 server that keeps connections as Node
// does, or as its manner says. Its coroutine hears a request, plays the reply, and begins again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/demo_head.h"
#include "app/demo_pages.h"
#include "http/chunked.h"
#include "http/head.h"
#include "http/scanner.h"
#include "io/alarm.h"
#include "io/loop.h"
#include "io/stream.h"
#include "io/task.h"

namespace hushgate::app {

inline constexpr Ms kDemoRequestTimeout{300'000};  // from a head's first byte to the body's end
inline constexpr Ms kDemoSendTimeout{60'000};      // for a client that takes nothing of its reply
inline constexpr Ms kDemoLinger{2'000};            // for the FIN behind ours

class DemoConnection;

class DemoConnectionKeeper {
 public:
  // The coroutine has returned and the stream is closed; the connection may be destroyed.
  virtual void ended(DemoConnection& connection) = 0;
  // A request is over.
  virtual void told(const DemoEvent& event) = 0;
  // The upstream is to be gone for so long; stop() is called on every connection before it returns.
  virtual void die(Ms away) = 0;

 protected:
  ~DemoConnectionKeeper() = default;
};

// What all connections share; outlives them.
struct DemoHouse {
  io::Loop& loop;
  DemoPages& pages;
  DemoConnectionKeeper& keeper;
  DemoTiming timing;
  DemoManner manner;
};

class DemoConnection final : public io::Wakeup {
 public:
  // Begins with its next run. Must be told to stop() and have ended before it is destroyed.
  DemoConnection(const DemoHouse& house, io::StreamPtr stream);

  // Ends in its next run, wherever it is, and closes like this.
  void stop(io::CloseHow how);

 private:
  enum class Heard : std::uint8_t {
    nothing,  // the connection is to be closed without a word
    request,  // reply_ answers it
    refusal,  // reply_ says why; the connection ends behind it
  };
  enum class Body : std::uint8_t { more, whole, malformed };
  enum class Stage : std::uint8_t { living, stopping };

  io::Task<> live();
  io::Task<Heard> hear();
  io::Task<Heard> hear_head(Time due);
  io::Task<Heard> hear_body(Time due);
  io::Task<DemoOutcome> answer();
  io::Task<DemoOutcome> play_steps();
  io::Task<DemoOutcome> play_numbered();
  io::Task<DemoOutcome> play_socket();
  io::Task<bool> more_input(Time due);
  io::Task<bool> flush();
  io::Task<bool> wait_until(Time due);
  io::Task<> linger();
  void after_run() override;

  bool over() const { return stage_ == Stage::stopping || stream_->failed(); }
  io::Take::Kind take_once();
  bool accept_head(const http::Scan& scan);
  Body take_body();
  void keep_body(std::string_view piece);
  Heard refuse(ErrorKind kind);
  void compose();
  void write_head();
  void write_step(std::size_t index);
  void end_request(DemoOutcome outcome);

  DemoHouse house_;
  io::StreamPtr stream_;
  io::Alarm alarm_{*this};
  Stage stage_ = Stage::living;

  std::string input_;  // received and not understood yet
  std::string output_;
  http::HeadScanner scanner_;

  std::string head_text_;  // what head_ points into
  http::RequestHead head_;
  http::Framing framing_;
  http::ChunkedDecoder chunked_;
  http::Trailers trailers_;
  std::string body_;
  std::uint64_t body_bytes_ = 0;
  DemoSha1 sha1_;  // of the body

  std::size_t requests_ = 0;  // understood on this connection
  std::uint64_t request_id_ = 0;
  DemoReply reply_;
  DemoKeep keep_ = DemoKeep::yes;
  io::CloseHow how_ = io::CloseHow::fin;
  io::Task<> life_;
};

}  // namespace hushgate::app
