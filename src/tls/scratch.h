// What all TLS streams of a worker share, so that an idle one owns no buffer: the place where
// records are decrypted, where small pieces are gathered, and where ciphertext lies until the
// socket has taken it. And the numbers that they count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/intrusive_list.h"
#include "io/loop.h"
#include "io/shared_buffer.h"

struct bio_st;
struct bio_method_st;
struct ssl_st;

namespace hushgate::tls {

class Stream;
struct FinishingTag {};

// Of one worker's streams since its start. Only read by others.
struct Counts {
  std::uint64_t accepted_full = 0;  // handshakes with clients, by how they ended
  std::uint64_t accepted_resumed = 0;
  // Ended by a peer or its bytes. Not: by the owner's close, or by a client that has said nothing
  // (a load balancer that looks whether the port is open).
  std::uint64_t accept_failed = 0;
  std::uint64_t connected_full = 0;  // handshakes with upstreams
  std::uint64_t connected_resumed = 0;
  std::uint64_t connect_failed = 0;
  std::uint64_t renegotiations_refused = 0;  // the connection is ended with it
  std::uint64_t key_update_floods = 0;       // the same
};

inline constexpr std::size_t kRecordBytes = 16'384;    // RFC 8446 section 5.1
inline constexpr std::size_t kMaxLeaseBytes = 65'536;  // of any backend; asserted
// The plaintext of a lease and of the record that was begun before it.
inline constexpr std::size_t kPlainBytes = kMaxLeaseBytes + kRecordBytes + 1'024;
// Plaintext that is encrypted at once; what the socket does not take of it waits in the stream.
inline constexpr std::size_t kWriteBytes = 65'536;

// Outlives its streams, and ends before its loop. Its loop's thread only.
class Scratch {
 public:
  explicit Scratch(io::Loop& loop);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  // Streams that were closed and still deliver what was accepted are reset.
  ~Scratch();

  const Counts& counts() const { return counts_; }

 private:
  friend class Stream;

  struct FreeBio {
    void operator()(bio_st* bio) const noexcept;
    void operator()(bio_method_st* method) const noexcept;
  };
  // What OpenSSL reads and writes through, whichever stream's turn it is. One BIO is enough: it has
  // no state of its own between two calls.
  static int bio_read(bio_st* bio, char* out, int size);
  static int bio_write(bio_st* bio, const char* bytes, int size);
  static long bio_control(bio_st* bio, int command, long number, void* pointer);

  void attach(ssl_st* ssl);
  // Ciphertext to be read next; `starved` tells whether more was asked for than that.
  void feed(Bytes bytes) {
    input_ = bytes;
    starved_ = false;
  }
  MutableBytes gather() { return {gather_.get(), kRecordBytes}; }
  // Written records that nobody has taken yet. Taken within the call that has made them.
  Bytes output() const { return output_; }
  void clear_output();

  io::Loop& loop_;
  Counts counts_;
  io::SharedBuffer plain_{kPlainBytes};
  std::unique_ptr<std::byte[]> gather_;
  std::vector<std::byte> output_;
  Bytes input_;
  bool starved_ = false;
  std::unique_ptr<bio_method_st, FreeBio> method_;
  std::unique_ptr<bio_st, FreeBio> bio_;
  IntrusiveList<Stream, FinishingTag> finishing_;
};

}  // namespace hushgate::tls
