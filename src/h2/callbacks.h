// nghttp2, and what it calls. For h2/*.cc: what other floors include names its types only.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>

#include "h2/link.h"

namespace hushgate::h2 {

inline constexpr std::size_t kMaxSentHeadBytes =
    1 << 20;  // our bound of what goes out; the peer has its own
inline constexpr std::uint32_t kLinkWindowBytes = 1 << 20;  // of the connection; freed on receipt
// A head that is too large is answered (431); one that is so many times too large, when HPACK has
// undone its compression, ends the connection.
inline constexpr std::size_t kExcessOfHeads = 4;
inline constexpr std::uint32_t kMaxHeldAcks = 1'000;  // answers to SETTINGS and PING that wait

struct Callbacks {
  static nghttp2_session* make_server(Link& link);
  static nghttp2_session* make_client(Link& link);

  static Leg* leg_of(Link& link, std::int32_t stream);
  static ssize_t send(nghttp2_session*, const std::uint8_t* bytes, std::size_t size, int,
                      void* link);
  static int send_data(nghttp2_session*, nghttp2_frame*, const std::uint8_t* head, std::size_t size,
                       nghttp2_data_source*, void* link);
  static ssize_t read_data(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source*, void* link);
  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd*, void* link);
  static int on_begin_headers(nghttp2_session*, const nghttp2_frame*, void* link);
  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* link);
  static int on_invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*,
                               std::size_t, const std::uint8_t*, std::size_t, std::uint8_t,
                               void* link);
  static int on_frame(nghttp2_session*, const nghttp2_frame*, void* link);
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                     std::size_t size, void* link);
  static int on_stream_close(nghttp2_session*, std::int32_t stream, std::uint32_t code, void* link);
  static int on_sent(nghttp2_session*, const nghttp2_frame*, void* link);
  static int on_not_sent(nghttp2_session*, const nghttp2_frame*, int why, void* link);
  static int on_error(nghttp2_session*, int code, const char* text, std::size_t size, void* link);
  static int on_invalid_frame(nghttp2_session*, const nghttp2_frame*, int why, void* link);

 private:
  static void on_headers(Link& link, const nghttp2_frame& frame);
  static void blame(Link& link, std::int32_t stream);
  static void count(Link& link, const nghttp2_frame& frame);
};

}  // namespace hushgate::h2
