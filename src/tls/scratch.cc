#include "tls/scratch.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "tls/openssl.h"
#include "tls/stream.h"

namespace hushgate::tls {
namespace {

// Four records, and what else may be written with them. Beyond it goes a handshake's flight with an
// unusual list of certificates; that memory is not kept.
constexpr std::size_t kOutputBytes = kWriteBytes + 4'096;

Scratch& of(BIO* bio) { return *static_cast<Scratch*>(BIO_get_data(bio)); }

}  // namespace

void Scratch::FreeBio::operator()(bio_st* bio) const noexcept { BIO_free(bio); }
void Scratch::FreeBio::operator()(bio_method_st* method) const noexcept { BIO_meth_free(method); }

Scratch::Scratch(io::Loop& loop)
    : loop_(loop),
      gather_(std::make_unique_for_overwrite<std::byte[]>(kRecordBytes)),
      method_(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "hushgate")) {
  HG_ASSERT(method_ != nullptr);
  BIO_meth_set_read(method_.get(), bio_read);
  BIO_meth_set_write(method_.get(), bio_write);
  BIO_meth_set_ctrl(method_.get(), bio_control);
  bio_.reset(BIO_new(method_.get()));
  HG_ASSERT(bio_ != nullptr);
  BIO_set_data(bio_.get(), this);
  BIO_set_init(bio_.get(), 1);
  output_.reserve(kOutputBytes);
}

Scratch::~Scratch() {
  while (!finishing_.empty()) finishing_.front().give_up();
}

int Scratch::bio_read(bio_st* bio, char* out, int size) {
  Scratch& scratch = of(bio);
  BIO_clear_retry_flags(bio);
  if (scratch.input_.empty()) {
    scratch.starved_ = true;
    BIO_set_retry_read(bio);
    return -1;
  }
  const std::size_t take = std::min(scratch.input_.size(), static_cast<std::size_t>(size));
  std::memcpy(out, scratch.input_.data(), take);
  scratch.input_ = scratch.input_.subspan(take);
  return static_cast<int>(take);
}

int Scratch::bio_write(bio_st* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const Bytes more = as_bytes({bytes, static_cast<std::size_t>(size)});
  std::vector<std::byte>& output = of(bio).output_;
  output.insert(output.end(), more.begin(), more.end());
  return size;
}

long Scratch::bio_control(bio_st*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

void Scratch::attach(ssl_st* ssl) {
  BIO_up_ref(bio_.get());
  SSL_set0_rbio(ssl, bio_.get());
  BIO_up_ref(bio_.get());
  SSL_set0_wbio(ssl, bio_.get());
}

void Scratch::clear_output() {
  output_.clear();
  if (output_.capacity() <= 2 * kOutputBytes) return;
  output_.shrink_to_fit();
  output_.reserve(kOutputBytes);
}

}  // namespace hushgate::tls
