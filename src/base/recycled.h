// Memory that is used again: what a class derived from Recycled frees is kept for its next object.
#pragma once

#include <sanitizer/asan_interface.h>

#include <cstddef>
#include <new>

#include "base/assert.h"

namespace hushgate {

// T must be final: every object has T's size. At most `kMost` are kept per thread; they go with it.
// AddressSanitizer knows what is kept for freed.
template <typename T, std::size_t kMost>
class Recycled {
 public:
  static void* operator new(std::size_t bytes) {
    HG_ASSERT(bytes == sizeof(T));
    Spares& spares = mine();
    if (spares.first == nullptr) return ::operator new(bytes);
    --spares.count;
    Spare* const spare = spares.first;
    spares.first = spare->next;
    ASAN_UNPOISON_MEMORY_REGION(spare, sizeof(T));
    return spare;
  }
  static void operator delete(void* memory) noexcept {
    static_assert(sizeof(T) >= sizeof(Spare));
    Spares& spares = mine();
    if (spares.count == kMost) return ::operator delete(memory);
    ++spares.count;
    spares.first = ::new (memory) Spare{spares.first};
    ASAN_POISON_MEMORY_REGION(spares.first + 1, sizeof(T) - sizeof(Spare));
  }

 protected:
  Recycled() = default;
  ~Recycled() = default;

 private:
  struct Spare {
    Spare* next;
  };
  struct Spares {
    Spare* first = nullptr;
    std::size_t count = 0;
    ~Spares() {
      while (first != nullptr) {
        Spare* const next = first->next;
        ASAN_UNPOISON_MEMORY_REGION(first, sizeof(T));
        ::operator delete(first);
        first = next;
      }
      count = kMost;  // what ends after this is not kept
    }
  };
  static Spares& mine() {
    static thread_local Spares spares;
    return spares;
  }
};

}  // namespace hushgate
