// HTTP/1.1 messages as the peers of a life read them: strict, byte for byte, and no code of the
// gateway's own, so that a fault there is no fault here too (RFC 9112).
//
// Stricter than a peer has to be, since all that it reads was written by the gateway: lines end in
// CRLF, no obs-fold, no Content-Length twice or beside a Transfer-Encoding, no coding but chunked,
// no chunk extensions, no framing in a trailer, no empty lines before a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hushgate::swarm {

enum class Role : std::uint8_t { request, response };

class MessageReader {
 public:
  enum class State : std::uint8_t {
    start,   // nothing of the next message has come
    head,    // some of its head has
    body,    // its head is complete; start_line() and fields() are its
    tunnel,  // nothing that follows is a message: body pieces are the tunnel's
    faulty,  // fault() says why; nothing more is read
  };
  explicit MessageReader(Role role) : role_(role) {}
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // Responses only: the method of the next request that one will be the final answer to.
  void expect(std::string_view method) { methods_.emplace_back(method); }

  // Reads from `bytes` until something is worth telling, and takes that much off their front.
  enum class Event : std::uint8_t {
    none,        // all of `bytes` was used
    start_line,  // complete
    head,        // complete. For a response with 1xx the message ends with it
    body,        // payload(): a piece of it, valid as long as `bytes` are
    trailer,     // fields() are now the trailer's
    end,         // the message is complete; may be told with no byte left
    fault,
  };
  Event read(std::string_view& bytes);
  // The peer's FIN has come behind all that was read: `end` if that ends a message (an EOF body) or
  // a tunnel, `none` between messages, else `fault`.
  Event finish();

  State state() const;
  const std::string& start_line() const { return start_line_; }
  std::string_view method() const { return method_; }  // of a request
  std::string_view target() const { return target_; }  // of a request
  int status() const { return status_; }               // of a response
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
  // The value of the first field of this name (compared without case), or "".
  std::string_view field(std::string_view name) const;
  std::size_t count(std::string_view name) const;  // of the fields of this name
  std::string_view payload() const { return payload_; }
  std::uint64_t body_bytes() const { return body_bytes_; }  // of this message, so far
  bool until_eof() const { return framing_ == Framing::eof; }
  const std::string& fault() const { return fault_; }

 private:
  enum class Framing : std::uint8_t { none, length, chunked, eof };
  // What is read next.
  enum class Part : std::uint8_t {
    start_line,
    field,       // a line of the head, or the empty one
    length,      // left_bytes_ of the body
    chunk_line,  // the size of the next chunk
    chunk,       // left_bytes_ of it
    chunk_end,   // its CRLF
    trailer,     // a line of the trailer, or the empty one
    eof,         // body until the connection ends
    end,         // nothing: `end` is to be told
    tunnel,      // all that comes
    nothing,     // fault_ is set
  };

  Event advance(std::string_view& bytes);
  Event read_line(std::string_view line);
  Event take_payload(std::string_view& bytes);
  // A line without its CRLF, if its end is here. Valid until the next call.
  std::optional<std::string_view> take_line(std::string_view& bytes);
  Event read_start_line(std::string_view line);
  bool read_request_line(std::string_view line);
  bool read_status_line(std::string_view line);
  Event read_field(std::string_view line);
  Event read_chunk_line(std::string_view line);
  Event end_head();
  Event end_request_head(std::size_t codings, std::size_t lengths);
  Event end_response_head(std::size_t codings, std::size_t lengths);
  Event end_trailer();
  Event begin_body(std::size_t codings, std::size_t lengths, Framing otherwise);
  Event fail(std::string why);

  Role role_;
  Part part_ = Part::start_line;
  Framing framing_ = Framing::none;
  std::deque<std::string> methods_;
  std::string partial_;  // the beginning of a line whose end has not come
  std::string joined_;   // a line that came in several pieces
  std::string start_line_;
  std::string_view method_;  // in start_line_, as the next two
  std::string_view target_;
  std::string_view version_;
  std::vector<std::pair<std::string, std::string>> fields_;
  int status_ = 0;
  std::string_view payload_;
  std::uint64_t left_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::string fault_;
};

}  // namespace hushgate::swarm
