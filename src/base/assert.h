// Assertions about our own mistakes, on in every build. Never used on what a peer sent.
#pragma once

namespace hushgate {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace hushgate

#define HG_ASSERT(condition)                         \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::hushgate::assertion_failed(#condition, __FILE__, __LINE__))
