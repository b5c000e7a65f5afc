// Frames that cost the peer nothing and us something, counted: each kind has a budget that refills
// with time, and who uses one up has ended its connection (GOAWAY ENHANCE_YOUR_CALM). What we do
// for the peer excuses some: who is sent DATA must open windows, who is served may also cancel.
// So no amount of honest work is a flood, at whatever speed. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace hushgate::h2 {

enum class Flood : std::uint8_t {
  resets,          // RST_STREAM of streams that were being served (rapid reset)
  made_resets,     // streams that we must reset, because of what the peer did (made-you-reset)
  settings,        // SETTINGS that are no ACK: each costs an answer
  pings,           // PING that are no ACK: the same
  priorities,      // PRIORITY, PRIORITY_UPDATE and unknown frames
  empty_frames,    // DATA without data that ends nothing; CONTINUATION and HEADERS without a field
  window_updates,  // of streams and of the connection
};
inline constexpr std::size_t kFloods = 7;
std::string_view name(Flood kind);  // as in the log and in the metrics

// Of one kind: so many at once, and as many again in each kFloodRefill, evenly. The clock of a
// budget starts with the frame that begins to use it.
inline constexpr Ms kFloodRefill{10'000};
std::uint32_t flood_budget(Flood kind);

// What excuses how many; they are used before the budget is, and do not expire.
inline constexpr std::uint32_t kPrioritiesPerStream = 8;
inline constexpr std::uint32_t kWindowUpdatesPerStream = 2;
inline constexpr std::uint32_t kWindowUpdatesPerData = 8;
inline constexpr std::uint32_t kPingsPerData = 1;  // gRPC measures bandwidth with them
// ... and how many are kept at most.
std::uint32_t most_excuses(Flood kind);

class Floods {
 public:
  // One more. False: that was too many. `now` never goes back.
  [[nodiscard]] bool note(Flood kind, Time now);

  // The peer has opened a stream, or may answer to one of ours.
  void note_stream();
  // A response of ours has begun, or a request of ours: whatever ends its stream now has cost the
  // peer something too. At most once per stream. Excuses a reset of either kind.
  void note_served();
  // So many DATA frames have been sent to the peer.
  void note_data_sent(std::uint32_t frames);

 private:
  struct Bucket {
    Time full_at{};  // the budget is whole from then on; before it, each frame's share is missing
    std::uint32_t excuses = 0;
  };
  void excuse(Flood kind, std::uint64_t more);

  std::array<Bucket, kFloods> buckets_{};
};

}  // namespace hushgate::h2
