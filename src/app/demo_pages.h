// What the demo's upstream has to offer: requests in, replies out. No sockets, no clock of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "app/demo_items.h"
#include "app/demo_ledger.h"
#include "app/demo_reply.h"

namespace hushgate::app {

inline constexpr std::size_t kMaxDemoEchoBytes = 65'536;  // of a body, as /echo gives it back

class DemoPages {
 public:
  explicit DemoPages(const DemoTiming& timing) : timing_(timing) {}

  // `id` is the ledger's.
  DemoReply answer(const DemoRequest& request, std::uint64_t id, Time now);

  DemoLedger& ledger() { return ledger_; }

 private:
  DemoTiming timing_;
  DemoLedger ledger_;
  DemoItems items_;
};

}  // namespace hushgate::app
