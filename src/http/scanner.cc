#include "http/scanner.h"

#include <algorithm>

#include "base/assert.h"
#include "http/text.h"

namespace hushgate::http {

void HeadScanner::reset() { offset_ = line_start_ = start_ = lines_ = 0; }

Scan HeadScanner::scan(std::string_view buffered) {
  HG_ASSERT(buffered.size() >= offset_);
  const char* const data = buffered.data();
  while (true) {
    // The first line's CR may stand at line_bound, the head's last byte before head_bound.
    const bool in_request_line = role_ == ScanRole::request && lines_ == 0;
    const std::size_t head_bound = start_ + bounds_.max_head_bytes;
    const std::size_t line_bound =
        in_request_line ? start_ + bounds_.max_request_line_bytes + 1 : head_bound;
    const std::size_t stop = std::min({buffered.size(), head_bound, line_bound});
    const auto at =
        static_cast<std::size_t>(find_control(data + std::min(offset_, stop), data + stop) - data);
    if (at == stop) {
      offset_ = std::max(offset_, stop);
      if (in_request_line && line_bound <= head_bound && stop == line_bound) {
        return refuse(ErrorKind::target_too_long);
      }
      if (buffered.size() > head_bound) return refuse(ErrorKind::head_too_large);
      return {};
    }
    offset_ = at;
    if (data[at] != '\r') return refuse(ErrorKind::bad_request);
    if (at + 1 == buffered.size()) return {};  // its LF is still to come
    if (at + 1 >= head_bound) return refuse(ErrorKind::head_too_large);
    if (data[at + 1] != '\n') return refuse(ErrorKind::bad_request);
    const Scan scan = end_line(at);
    if (scan.event != ScanEvent::need_more) return scan;
  }
}

Scan HeadScanner::end_line(std::size_t at) {
  const bool empty = at == line_start_;
  line_start_ = offset_ = at + 2;
  if (empty) {
    if (lines_ > 0 || role_ == ScanRole::trailers) {
      return {ScanEvent::complete, ErrorKind::none, start_, offset_};
    }
    if (role_ != ScanRole::request || start_ != 0) return refuse(ErrorKind::bad_request);
    start_ = offset_;
    return {};
  }
  ++lines_;
  const std::size_t fields = role_ == ScanRole::trailers ? lines_ : lines_ - 1;
  return fields > bounds_.max_fields ? refuse(ErrorKind::head_too_large) : Scan{};
}

}  // namespace hushgate::http
