// What the demo's upstream has to offer: requests in, replies out. No sockets, no clock of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "app/demo_items.h"
#include "app/demo_ledger.h"
#include "app/demo_reply.h"

namespace hushgate::app {

inline constexpr std::size_t kMaxDemoEchoBytes = 65'536;  // of a body, as /echo gives it back

class DemoPages {
 public:
  explicit DemoPages(const DemoTiming& timing) : timing_(timing) {}

  // `id` is the ledger's. Which page request.path is; what `manner` alone has is 404 elsewhere.
  DemoReply answer(const DemoRequest& request, DemoManner manner, std::uint64_t id, Time now);
  // What /tour shows.
  void set_tour(std::string tour) { tour_ = std::move(tour); }

  DemoLedger& ledger() { return ledger_; }

 private:
  DemoReply answer_read(const DemoRequest& request, Time now) const;

  DemoTiming timing_;
  DemoLedger ledger_;
  DemoItems items_;
  std::string tour_;
};

// Behind which path the gateway reaches an upstream with this manner: "", "/closing", "/mortal".
std::string_view prefix_of(DemoManner manner);

}  // namespace hushgate::app
