// As much of HTTP/1.1 as the load programs need: where a head ends, a field's value, and where a
// body ends. They talk to gateways that are tested elsewhere; this is no parser to trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hushgate::bench {

// Takes a head from the front of `bytes`, which comes after `kept`. True: `head` is all of it
// (valid as long as both are left alone). False: everything went to `kept`.
bool next_head(std::string& kept, std::string_view& bytes, std::string_view& head);

// The value of the first field of this name (lower case), without the blanks around it, or empty.
std::string_view field_value(std::string_view head, std::string_view name);

// True if that value holds `word` (lower case), whatever the case.
bool field_holds(std::string_view head, std::string_view name, std::string_view word);

// Counts a body's bytes without looking at them.
class BodyCounter {
 public:
  // By Content-Length or chunked; neither: no body.
  static BodyCounter of(std::string_view head);

  bool done() const { return done_; }
  // How many of the bytes belong to the body.
  std::size_t take(std::string_view bytes);

 private:
  std::size_t take_line(std::string_view bytes);

  bool chunked_ = false;
  bool done_ = true;
  bool in_data_ = false;  // chunked: `left_` bytes of data and CRLF are to come
  bool last_ = false;     // chunked: the last chunk's line has come; an empty line is to come
  std::uint64_t left_ = 0;
  std::string line_;  // chunked: of a line that has not come whole
};

}  // namespace hushgate::bench
