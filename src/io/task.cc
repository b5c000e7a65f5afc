#include "io/task.h"

#include <array>
#include <cstdlib>
#include <new>

namespace hushgate::io {
namespace {

constexpr std::size_t kClassBytes = 16;  // every idle connection has a frame
constexpr std::size_t kClasses =
    128;  // frames up to 2 KiB are kept; larger ones are a mistake in a coroutine's locals

struct FreeFrame {
  FreeFrame* next;
};

class FrameStore {
 public:
  FrameStore() = default;
  FrameStore(const FrameStore&) = delete;
  FrameStore& operator=(const FrameStore&) = delete;
  ~FrameStore() {
    for (FreeFrame* frame : free_) {
      while (frame != nullptr) ::operator delete(std::exchange(frame, frame->next));
    }
  }

  void* take(std::size_t index) {
    if (free_[index] == nullptr) return ::operator new((index + 1) * kClassBytes);
    return std::exchange(free_[index], free_[index]->next);
  }
  void put(void* frame, std::size_t index) noexcept {
    free_[index] = ::new (frame) FreeFrame{free_[index]};
  }

 private:
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
