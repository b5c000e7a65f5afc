#include "h2/session_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace hushgate::h2 {
namespace {

class SessionMemory : public testing::Test {
 protected:
  std::byte* allocate(std::size_t bytes) {
    return static_cast<std::byte*>(memory_.malloc(bytes, memory_.mem_user_data));
  }
  std::byte* resize(void* block, std::size_t bytes) {
    return static_cast<std::byte*>(memory_.realloc(block, bytes, memory_.mem_user_data));
  }
  void* allocate_zeroed(std::size_t count, std::size_t each) {
    return memory_.calloc(count, each, memory_.mem_user_data);
  }
  void release(void* block) { memory_.free(block, memory_.mem_user_data); }

  const nghttp2_mem& memory_ = *session_memory();
};

TEST_F(SessionMemory, GivesAFreedBlockToTheNextOfItsSize) {
  std::byte* const first = allocate(100);
  release(first);
  std::byte* const other_size = allocate(300);
  EXPECT_NE(other_size, first);
  std::byte* const again = allocate(100);
  EXPECT_EQ(again, first);
  release(again);
  release(other_size);
}

TEST_F(SessionMemory, ZeroesWhatWasUsedBefore) {
  std::byte* const used = allocate(96);
  std::memset(used, 0xff, 96);
  release(used);
  const auto* const zeroed = static_cast<const std::byte*>(allocate_zeroed(12, 8));
  for (const std::byte each : std::span(zeroed, 96)) EXPECT_EQ(each, std::byte{0});
  release(const_cast<std::byte*>(zeroed));
}

TEST_F(SessionMemory, RefusesWhatCannotBe) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(allocate(kMost), nullptr);
  EXPECT_EQ(allocate_zeroed(kMost / 2, 4), nullptr);
}

TEST_F(SessionMemory, FreesNothingForNull) {
  release(nullptr);
  std::byte* const block = resize(nullptr, 10);
  ASSERT_NE(block, nullptr);
  release(block);
}

// Whatever is asked for in whatever order: no block overlaps another, and resizing keeps the bytes.
TEST_F(SessionMemory, KeepsEveryBlocksBytes) {
  struct Block {
    std::byte* at;
    std::size_t bytes;
    std::byte filling;
  };
  std::mt19937_64 random(7);
  std::vector<Block> blocks;
  const auto check = [](const Block& block) {
    for (const std::byte each : std::span(block.at, block.bytes)) {
      ASSERT_EQ(each, block.filling);
    }
  };
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t bytes = random() % 1500;
    if (blocks.size() < 50 || random() % 2 == 0) {
      blocks.push_back({allocate(bytes), bytes, static_cast<std::byte>(step)});
      std::memset(blocks.back().at, static_cast<int>(blocks.back().filling), bytes);
      continue;
    }
    Block& block = blocks[random() % blocks.size()];
    check(block);
    if (random() % 4 == 0) {
      block.at = resize(block.at, bytes);
      block.bytes = std::min(bytes, block.bytes);
      check(block);
      continue;
    }
    release(block.at);
    block = blocks.back();
    blocks.pop_back();
  }
  for (const Block& block : blocks) {
    check(block);
    release(block.at);
  }
}

// A worker's sessions may end on the thread that ends the program.
TEST_F(SessionMemory, TakesBlocksOfAnotherThread) {
  std::byte* block = nullptr;
  std::thread([&] { block = allocate(64); }).join();
  release(block);
}

}  // namespace
}  // namespace hushgate::h2
