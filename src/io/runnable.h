// The unit of scheduling: something that the loop runs once in a turn after it was made ready.
#pragma once

#include "base/intrusive_list.h"

namespace hushgate::io {

struct ReadyTag {};

// Made ready by events of its streams, by alarms, deadlines and by hand (Loop::ready). Being made
// ready twice before it runs is once. Destroying one takes it out of the ready list, so nothing is
// ever run after its end.
class Runnable : public ListNode<ReadyTag> {
 public:
  Runnable() = default;
  virtual void run() = 0;

 protected:
  ~Runnable() = default;
};

using ReadyList = IntrusiveList<Runnable, ReadyTag>;

}  // namespace hushgate::io
