// HTTP/2 messages in the inner form, and back. Inside, every message is HTTP/1.1 text: one parser
// judges what may pass, whatever it came as (docs/decisions/0010-http2-as-streams.md). Pure.
//
// Inner form of a body: `length` where content-length is known and no trailers were announced, else
// `chunked`; trailers end a chunked one. An extended CONNECT (RFC 8441) is a GET with Upgrade, its
// 200 a 101; what follows is a tunnel's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "h2/block.h"
#include "h2/field_views.h"
#include "http/head.h"

namespace hushgate::h2 {

enum class Stream : std::uint8_t { open, ended };  // END_STREAM was on the block

enum class Body : std::uint8_t { none, length, chunked, tunnel };

// How the message goes on behind the head that was appended.
struct Inner {
  Body body = Body::none;
  std::uint64_t length = 0;                   // Body::length
  http::Method method = http::Method::other;  // of a request, as the inner form has it
  bool is_interim = false;                    // a response: 1xx; another head follows
  bool is_connect = false;  // a request: CONNECT, extended or not: answered by a tunnel
};

// Faults below are those of a malformed message (RFC 9113 section 8.1.1), ErrorKind::bad_request:
// the stream is reset with PROTOCOL_ERROR, and nothing is appended. Checked, whatever nghttp2
// checks on its own: pseudo-fields complete, known, once, and first; a name is a token without
// capitals; no connection-specific field (but for `te: trailers`); no control character and no
// blank around a value; an authority, and Host the same where both are there; content-length
// 1*DIGIT, once, and 0 or absent with Stream::ended; `:scheme` http or https; `:path` without blank
// and beginning with
// '/', or '*' of OPTIONS. What is wrong within a target or an authority is left to http/parser.h.
//
// A block that overflowed() becomes text which the scanner refuses: 414 if not even the request
// line fitted, else 431 (502 of a response). A body is `chunked` then.

// A request head. `key`: 24 characters of base64 for Sec-WebSocket-Key, used by an extended CONNECT
// for websocket. Cookie fields become one (section 8.2.3). POST, PUT and PATCH with Stream::ended
// get `Content-Length: 0`. Behind a CONNECT, extended or not, `body` is a tunnel, though it is not
// agreed to yet.
Result<Inner> request_text(const Block& block, Stream stream, std::string_view key,
                           std::string& out);

// A response head (interim ones too: body none). A 2xx to an extended CONNECT becomes 101. Where
// the stream has ended, or is to, without a body that could have been, Content-Length is 0. Errors:
// http_protocol_error, also for 101, which HTTP/2 does not have.
struct Asked {
  http::Method method = http::Method::other;  // of the request, in the inner form
  std::string_view protocol = {};             // of an extended CONNECT; else empty
  std::string_view accept = {};               // for websocket; else empty
};
Result<Inner> response_text(const Block& block, const Asked& asked, Stream stream,
                            std::string& out);

// The last chunk, with those fields of the block that may be trailers. Errors: bad_request where a
// field breaks the rules above or is a pseudo-field, head_too_large where the block overflowed().
Result<void> trailer_text(const Block& block, std::string& out);

// The other way: appends to `out`. Connection-specific fields, Host and Transfer-Encoding are left
// out; Content-Length stays. `te: trailers` stays. False: more than `out` may hold. Views are into
// what `head` looks at.

// `head` as http::write_request_head writes it: not in absolute-form. CONNECT has only :method and
// :authority.
bool request_block(const http::RequestHead& head, std::string_view scheme, FieldViews& out);
// An Upgrade that request_block() turns into an extended CONNECT, without Sec-WebSocket-Key: of a
// GET without a body. From any other request the Upgrade is left out, and it is an ordinary one.
bool asks_extended_connect(const http::RequestHead& head);
// A 101 becomes 200 without Sec-WebSocket-Accept.
bool response_block(const http::ResponseHead& head, FieldViews& out);
// Copies; names are lowered.
bool trailer_block(const http::FieldList& fields, Block& out);

}  // namespace hushgate::h2
