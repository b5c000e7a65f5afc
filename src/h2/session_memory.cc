#include "h2/session_memory.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace hushgate::h2 {

namespace {

constexpr std::size_t kStepBytes = 32;
constexpr std::size_t kSizes = 32;               // up to 1 024 bytes, with their heads
constexpr std::size_t kMostKeptBytes = 524'288;  // bytes of a thread

// In front of every block.
struct alignas(std::max_align_t) Head {
  std::size_t bytes;  // behind it
  Head* next;         // while it is kept
};
constexpr std::size_t kMostBlockBytes = kSizes * kStepBytes - sizeof(Head);

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() {
    for (Head*& first : kept_) {
      while (first != nullptr) std::free(take(first));
    }
    kept_bytes_ = kMostKeptBytes;  // what ends after this is not kept
  }

  Head* find(std::size_t bytes) {
    if (bytes > kMostBlockBytes) return nullptr;
    Head*& first = kept_[index_of(bytes)];
    return first != nullptr ? take(first) : nullptr;
  }
  bool keep(Head* head) {
    if (head->bytes > kMostBlockBytes || kept_bytes_ + head->bytes > kMostKeptBytes) return false;
    kept_bytes_ += head->bytes;
    ASAN_POISON_MEMORY_REGION(head + 1, head->bytes);
    Head*& first = kept_[index_of(head->bytes)];
    head->next = first;
    first = head;
    return true;
  }

 private:
  static std::size_t index_of(std::size_t bytes) { return (bytes + sizeof(Head) - 1) / kStepBytes; }
  Head* take(Head*& first) {
    Head* const head = first;
    first = head->next;
    kept_bytes_ -= head->bytes;
    ASAN_UNPOISON_MEMORY_REGION(head + 1, head->bytes);
    return head;
  }

  std::array<Head*, kSizes> kept_{};
  std::size_t kept_bytes_ = 0;
};

Store& store() {
  static thread_local Store mine;
  return mine;
}

// The room that a block of this size has: all of its step.
std::size_t rounded(std::size_t bytes) {
  const std::size_t whole = (bytes + sizeof(Head) + kStepBytes - 1) / kStepBytes * kStepBytes;
  return std::max(whole, 2 * kStepBytes) - sizeof(Head);
}

void* allocate(std::size_t bytes, void*) {
  if (bytes > std::numeric_limits<std::ptrdiff_t>::max()) return nullptr;
  const std::size_t room = rounded(bytes);
  Head* head = store().find(room);
  if (head == nullptr) {
    head = static_cast<Head*>(std::malloc(sizeof(Head) + room));
    if (head == nullptr) return nullptr;
    head->bytes = room;
  }
  return head + 1;
}

void release(void* block, void*) {
  if (block == nullptr) return;
  Head* const head = static_cast<Head*>(block) - 1;
  if (!store().keep(head)) std::free(head);
}

void* allocate_zeroed(std::size_t count, std::size_t each, void* user) {
  if (each > 0 && count > std::numeric_limits<std::size_t>::max() / each) return nullptr;
  void* const block = allocate(count * each, user);
  if (block != nullptr) std::memset(block, 0, count * each);
  return block;
}

void* resize(void* block, std::size_t bytes, void* user) {
  if (block == nullptr) return allocate(bytes, user);
  const std::size_t before = (static_cast<Head*>(block) - 1)->bytes;
  if (bytes <= before) return block;
  void* const moved = allocate(bytes, user);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, before);
  release(block, user);
  return moved;
}

}  // namespace

nghttp2_mem* session_memory() {
  static nghttp2_mem memory{nullptr, allocate, release, allocate_zeroed, resize};
  return &memory;
}

}  // namespace hushgate::h2
