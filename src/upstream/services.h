// What the upstream side of a worker works with.
#pragma once

#include "base/log.h"
#include "io/loop.h"
#include "io/wheel.h"
#include "stats/counters.h"
#include "tls/scratch.h"
#include "upstream/resolver.h"

namespace hushgate::upstream {

// Makes room when descriptors run out. Implemented above; returns whether something was freed.
class RoomMaker {
 public:
  virtual bool make_room() = 0;

 protected:
  ~RoomMaker() = default;
};

struct Services {
  io::Loop& loop;
  io::Wheel& wheel;
  stats::Counters& counters;
  LogBuffer& log;
  NameSource& names;
  RoomMaker& room;
  tls::Scratch& tls;
};

}  // namespace hushgate::upstream
