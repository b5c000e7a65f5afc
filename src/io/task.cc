#include "io/task.h"

#include <sanitizer/asan_interface.h>

#include <array>
#include <memory>
#include <new>
#include <vector>

namespace hushgate::io {
namespace {

constexpr std::size_t kClassBytes = 16;  // every idle connection has a frame
constexpr std::size_t kClasses =
    128;  // frames up to 2 KiB are kept; larger ones are a mistake in a coroutine's locals
constexpr std::size_t kBlockBytes = 8'192;  // frames are cut from blocks: no heap header for each

struct FreeFrame {
  FreeFrame* next;
};

class FrameStore {
 public:
  void* take(std::size_t index) {
    if (free_[index] == nullptr) cut(index);
    FreeFrame* const frame = free_[index];
    ASAN_UNPOISON_MEMORY_REGION(frame, (index + 1) * kClassBytes);
    free_[index] = frame->next;
    return frame;
  }
  void put(void* frame, std::size_t index) noexcept {
    free_[index] = ::new (frame) FreeFrame{free_[index]};
    ASAN_POISON_MEMORY_REGION(frame, (index + 1) * kClassBytes);
  }

 private:
  void cut(std::size_t index) {
    const std::size_t frame_bytes = (index + 1) * kClassBytes;
    std::byte* const block =
        blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(kBlockBytes)).get();
    for (std::size_t i = kBlockBytes / frame_bytes; i > 0; --i) {
      put(block + (i - 1) * frame_bytes, index);
    }
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::array<FreeFrame*, kClasses> free_{};
};

thread_local FrameStore frame_store;

std::size_t class_of(std::size_t size) { return (size + kClassBytes - 1) / kClassBytes - 1; }

}  // namespace

void* allocate_frame(std::size_t size) {
  const std::size_t index = class_of(size);
  return index < kClasses ? frame_store.take(index) : ::operator new(size);
}

void free_frame(void* frame, std::size_t size) noexcept {
  const std::size_t index = class_of(size);
  if (index < kClasses) return frame_store.put(frame, index);
  ::operator delete(frame);
}

}  // namespace hushgate::io
