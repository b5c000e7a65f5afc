// Takes a message in the inner form apart again, as its bytes come: what is written to a leg. The
// text is ours, so a fault in it is our own mistake or a body that was cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "http/body_reader.h"
#include "http/head.h"
#include "http/scanner.h"

namespace hushgate::h2 {

class MessageReader {
 public:
  enum class State : std::uint8_t {
    head,    // one is awaited; behind an interim response, the next
    body,    // what comes next is `data` or the `end`
    asked,   // a request for a tunnel was read; nothing may come until become_tunnel()
    tunnel,  // everything is data, without end
    ended,   // the message is complete; more bytes are ignored
    broken,  // no such message: the stream is to be reset
  };
  enum class Event : std::uint8_t {
    none,      // more bytes are needed (everything was consumed)
    request,   // request() is complete
    response,  // response() is complete, an interim one too
    data,      // `Step::data`, never empty
    end,       // the body has ended; trailers() may hold fields
  };
  struct Step {
    Event event = Event::none;
    std::size_t consumed = 0;
    Bytes data{};
  };

  // `asked`: the method (in the inner form) of the request that a response answers: HEAD and
  // CONNECT have their own framing. Requests: pass http::Method::other.
  MessageReader(http::ScanRole role, http::Method asked);
  MessageReader(MessageReader&&) noexcept;
  MessageReader& operator=(MessageReader&&) noexcept;
  ~MessageReader();

  // The next event in `in`. Views (of heads into `in` or into what is kept; of data into `in`) are
  // valid until the next call. The event `end` directly follows a head without a body, and the last
  // data, also when `in` is empty; it consumes nothing or the last chunk.
  Step read(Bytes in);

  State state() const { return state_; }
  // Valid behind Event::request or response, until the next read() of any reader of this thread.
  const http::RequestHead& request() const;
  const http::ResponseHead& response() const;
  // With Event::request or a final response: no body follows, so END_STREAM may go with the head.
  bool bodyless() const { return state_ == State::body && body_.ended(); }
  const http::FieldList& trailers() const { return body_.trailers(); }  // behind Event::end
  // A tunnel was asked for and is agreed to, or not refused yet: what is read from now on is data.
  // Needs State::asked or tunnel. A response's 101, or 2xx to CONNECT, does it by itself.
  void become_tunnel();

 private:
  Step read_head(Bytes in);
  Event event_of_head() const;
  Result<std::size_t> use_head(std::string_view text);
  Result<std::size_t> use_request(std::string_view text);
  Result<std::size_t> use_response(std::string_view text);
  void begin_body(http::Framing framing);
  Step read_body(Bytes in);
  Step break_off(Bytes in);
  void forget_head();

  http::HeadScanner scanner_;
  http::BodyReader body_;
  std::string kept_;  // of a head that came in pieces, as long as its views are valid
  http::ScanRole role_;
  http::Method asked_;
  State state_ = State::head;
  bool keeps_head_ = false;  // `kept_` is a whole head, and is done with at the next read()
};

}  // namespace hushgate::h2
