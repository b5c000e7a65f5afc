// Heads on their way out. Framing, connection and routing fields are written anew from values;
// everything else goes through in its order, with its name's case and every repetition. All
// functions append to `out`, whose capacity is reused: nothing is allocated once warm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/head.h"

namespace hushgate::http {

// Whether the peer that connected to us is one of client.trustedProxies.
enum class Trust : std::uint8_t {
  untrusted,  // its X-Forwarded-* are replaced and its Forwarded is dropped
  trusted,    // X-Forwarded-For is appended to, -Proto, -Host and Forwarded are kept, and
              // X-Client-Cert-Subject unless we verified one ourselves
};

enum class ConnectionField : std::uint8_t {
  none,  // HTTP/1.1's default: the connection stays
  close,
  keep_alive,  // for an HTTP/1.0 client whose connection stays
  upgrade,     // with the message's Upgrade field, h2c removed
};

struct RequestRewrite {
  std::string_view path_prefix = {};  // of the upstream's URL: empty, or "/a/b" without a final '/'
  std::string_view host = {};         // Host's value
  Framing framing = {};               // of what will be sent: none, length or chunked
  ConnectionField connection = ConnectionField::none;
  Trust trust = Trust::untrusted;
  std::string_view client_address = {};   // X-Forwarded-For's new element; empty: left out
  std::string_view forwarded_proto = {};  // "http" or "https"; empty: left out
  std::string_view forwarded_host = {};   // the client's Host; empty: left out
  std::string_view via_token = {};        // our name in Via
  std::string_view via_version = {};      // "2" there; empty: what the head says
  std::string_view request_id = {};       // X-Request-Id's value; empty: the client's is kept
  std::string_view client_subject = {};   // X-Client-Cert-Subject's value; empty: no certificate
};

// HTTP/1.1 in origin-form ("*" and authority-form as they are). Removed: Connection and what it
// names (but for framing, Host, Via, X-Forwarded-*, X-Client-Cert-Subject, X-Request-Id, Expect and
// Max-Forwards),
// Keep-Alive, Proxy-Connection, Proxy-Authorization, TE
// (`TE: trailers` is written again if head.te_trailers), Upgrade, HTTP2-Settings; Expect unless
// head.expect_continue. Max-Forwards of TRACE and OPTIONS is written one less; a head whose value
// is 0 must not come here. ConnectionField::upgrade needs head.wants_upgrade.
void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& rewrite);

struct ResponseRewrite {
  // Of what will be sent. With `none` a HEAD's or 304's Content-Length goes through; a 1xx or 204
  // never has one.
  Framing framing = {};
  ConnectionField connection = ConnectionField::none;
  std::string_view via_token = {};
  std::string_view via_version = {};  // as in RequestRewrite
  std::string_view request_id = {};   // X-Request-Id's value if the response has none; may be empty
};

// HTTP/1.1 whatever the upstream's version. Removed: Connection and what it names (but for Via),
// Keep-Alive, Proxy-Connection, Proxy-Authenticate, TE, Upgrade (kept in a 426, and with
// ConnectionField::upgrade), HTTP2-Settings.
void write_response_head(std::string& out, const ResponseHead& head,
                         const ResponseRewrite& rewrite);

// A 1xx other than 101: no framing, no Connection.
void write_interim_head(std::string& out, const ResponseHead& head, std::string_view via_token,
                        std::string_view via_version = {});

// True if a field of this name may be forwarded in a trailer section: none that frames, routes,
// authenticates, sets state or says how to process the message (RFC 9110 section 6.5.1).
bool may_be_trailer(std::string_view name);

// The field lines that may be trailers, and the empty line that ends the message.
void write_trailers(std::string& out, const FieldList& fields);

// The last chunk with its trailers.
void write_last_chunk(std::string& out, const FieldList& trailers);

}  // namespace hushgate::http
