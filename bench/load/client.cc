#include "bench/load/client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hushgate::bench {

void Client::start(std::uint64_t intended_ns) {
  intended_ns_ = intended_ns;
  busy_ = true;
  in_body_ = answered_ = false;
  head_.clear();
  head_left_ = request_.head_and_small_body.size();
  filler_left_ = request_.filler_bytes;
  if (fd_ < 0) connect();
  send_more();
}

Progress Client::step(std::uint32_t events) {
  if (fd_ < 0) return Progress::waiting;
  if ((events & EPOLLOUT) != 0) send_more();
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return Progress::waiting;
  return receive();
}

void Client::connect() {
  fd_ = connect_to(request_.port);
  poller_.add(fd_, EPOLLIN, this);
  wants_out_ = false;
}

void Client::disconnect() {
  close(fd_);
  fd_ = -1;
}

void Client::send_more() {
  while (head_left_ + filler_left_ > 0) {
    const std::string& head = request_.head_and_small_body;
    const bool first = head_left_ > 0;
    const char* const data = first ? head.data() + head.size() - head_left_ : scratch_.data();
    const std::size_t size =
        first ? head_left_ : std::min<std::uint64_t>(filler_left_, scratch_.size());
    const ssize_t sent = send(fd_, data, size, MSG_NOSIGNAL);
    if (sent < 0) break;  // full; or broken, which receiving will show
    if (first) {
      head_left_ -= static_cast<std::size_t>(sent);
    } else {
      filler_left_ -= static_cast<std::uint64_t>(sent);
    }
  }
  const bool wants_out = head_left_ + filler_left_ > 0;
  if (wants_out != wants_out_) poller_.change(fd_, wants_out ? EPOLLIN | EPOLLOUT : EPOLLIN, this);
  wants_out_ = wants_out;
}

Progress Client::receive() {
  for (;;) {
    const ssize_t got = recv(fd_, scratch_.data(), scratch_.size(), 0);
    if (got < 0 && errno == EAGAIN) return Progress::waiting;
    if (got <= 0) {
      if (busy_ && request_.fresh && answered_) return end(Progress::answered);
      if (busy_) return end(Progress::failed);
      ++reconnects_;
      disconnect();
      return Progress::waiting;
    }
    const Progress progress = take({scratch_.data(), static_cast<std::size_t>(got)});
    if (progress != Progress::waiting) return progress;
    if (static_cast<std::size_t>(got) < scratch_.size()) return Progress::waiting;
  }
}

Progress Client::take(std::string_view bytes) {
  if (!busy_ || answered_) return end(Progress::failed);
  if (!in_body_) {
    std::string_view head;
    if (!next_head(head_, bytes, head)) return Progress::waiting;
    ok_ = head.size() > 12 && head.substr(9, 3) == "200";
    body_ = BodyCounter::of(head);
    in_body_ = true;
  }
  body_.take(bytes);
  if (!body_.done()) return Progress::waiting;
  answered_ = true;
  answered_ns_ = now_ns();
  if (!ok_) return end(Progress::failed);
  return request_.fresh ? Progress::waiting : end(Progress::answered);
}

Progress Client::end(Progress how) {
  if (fd_ >= 0 && (how == Progress::failed || request_.fresh)) disconnect();
  busy_ = false;
  return how;
}

}  // namespace hushgate::bench
