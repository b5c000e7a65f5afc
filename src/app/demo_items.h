// A REST resource in memory: /items (GET, POST) and /items/{n} (GET, PUT, DELETE). An item is any
// JSON value, shown as {"id":1,"item":...}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "app/demo_reply.h"

namespace hushgate::app {

inline constexpr std::size_t kMaxDemoItems = 1'000;      // one more is 507
inline constexpr std::size_t kMaxDemoItemBytes = 4'096;  // written compactly; one more is 413

class DemoItems {
 public:
  // `rest` is what stands behind "/items" in the path: empty, or from its '/' on.
  DemoReply answer(const DemoRequest& request, std::string_view rest);

 private:
  using Items = std::map<std::uint64_t, std::string>;

  DemoReply answer_all(const DemoRequest& request);
  DemoReply answer_one(const DemoRequest& request, Items::iterator found);
  DemoReply list() const;

  Items items_;
  std::uint64_t last_id_ = 0;  // never given again
};

}  // namespace hushgate::app
