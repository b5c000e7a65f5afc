#include "base/spare_room.h"

#include <utility>
#include <vector>

namespace hushgate {
namespace {

std::vector<std::string>& spares() {
  thread_local std::vector<std::string> texts = [] {
    std::vector<std::string> none;
    none.reserve(kMaxSpareTexts);
    return none;
  }();
  return texts;
}

}  // namespace

void find_room(std::string& text) {
  std::vector<std::string>& kept = spares();
  if (kept.empty()) return;
  kept.back().assign(text);
  text.swap(kept.back());
  kept.pop_back();
}

void give_back_room(std::string& text) noexcept {
  std::vector<std::string>& kept = spares();
  std::string room = std::move(text);
  text.clear();
  if (room.capacity() <= kWarmBytes && kept.size() < kMaxSpareTexts) {
    kept.push_back(std::move(room));
  }
}

}  // namespace hushgate
