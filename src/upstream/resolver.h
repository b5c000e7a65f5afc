// Names to addresses. A NameSource answers (the system's getaddrinfo on a helper thread, or a
// simulation); a Name is one upstream's cache of the answers, per worker.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "base/intrusive_list.h"
#include "base/result.h"
#include "io/loop.h"
#include "io/runnable.h"

namespace hushgate::upstream {

// At least one address, in the order in which they are to be tried (RFC 6724). Errors: dns_error,
// with getaddrinfo's code in os_error.
using NameAnswer = Result<std::vector<IpAddress>>;

class NameSource {
 public:
  virtual ~NameSource() = default;
  // `done` runs on `loop`. The asker must keep what `done` refers to until then.
  virtual void query(io::Loop& loop, const std::string& host,
                     std::function<void(NameAnswer)> done) = 0;
};

// As curl resolves: hosts file and nsswitch included. One helper thread for the process.
class SystemNames final : public NameSource {
 public:
  SystemNames();
  // Nothing is answered any more. Does not wait for a query under way: getaddrinfo may take longer
  // than a stop has time.
  ~SystemNames() override;
  void query(io::Loop& loop, const std::string& host,
             std::function<void(NameAnswer)> done) override;

 private:
  struct Query {
    io::Loop* loop;
    std::string host;
    std::function<void(NameAnswer)> done;
  };
  // Shared with the thread, which may outlive us in a query.
  struct Desk {
    std::mutex mutex;  // guards the rest
    std::condition_variable changed;
    std::deque<Query> queries;
    bool ending = false;
  };
  static void work(const std::shared_ptr<Desk>& desk);

  std::shared_ptr<Desk> desk_ = std::make_shared<Desk>();
};

inline constexpr Ms kNameFresh{
    30'000};  // an older answer is still used, and asked again in the background
inline constexpr Ms kNameAskPause{1'000};         // the least time between two questions for a name
inline constexpr std::size_t kMaxAddresses = 16;  // of a name; the rest is not tried

struct NameWaitTag {};

// Waits for the first answer of a Name.
class NameWait : public ListNode<NameWaitTag> {
 public:
  explicit NameWait(io::Runnable& target) : target(target) {}
  io::Runnable& target;
};

class Name {
 public:
  enum class State : std::uint8_t {
    unasked,
    asking,  // no answer yet; waiters are linked
    failed,  // the last answer was an error and there was never a good one; error() says which
    known,   // addresses() holds at least one
  };

  Name(io::Loop& loop, NameSource& source, std::string host);
  // A name that needs no resolving.
  Name(io::Loop& loop, NameSource& source, IpAddress literal);
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;
  ~Name();

  State state() const { return state_; }
  const std::vector<IpAddress>& addresses() const { return addresses_; }
  Error error() const { return error_; }

  // Asks if there is no answer or an old one. While `asking`, `wait`'s target is made ready when
  // the answer comes.
  void need(NameWait& wait, Time now);
  // A connect failed: the answer may be wrong by now. Asks again, unless that was done just now.
  void doubt(Time now);
  // This address was the first to accept: it is tried first from now on.
  void prefer(const IpAddress& winner);
  // What is known of the same name by another that goes: an old answer is better than none.
  void inherit(const Name& before);
  // The last one that accepted.
  const std::optional<IpAddress>& winner() const { return winner_; }

 private:
  void ask(Time now);
  void answered(NameAnswer answer);

  io::Loop& loop_;
  NameSource& source_;
  std::string host_;  // empty: a literal
  State state_ = State::unasked;
  bool under_way_ = false;
  std::vector<IpAddress> addresses_;
  std::optional<IpAddress> winner_;
  Error error_;
  Time asked_at_{};
  Time answered_at_{};
  IntrusiveList<NameWait, NameWaitTag> waits_;
  std::shared_ptr<Name*> self_;  // outlives us in a query under way; null inside then
};

// Alternates families, beginning with the first address's (RFC 8305 section 4), and keeps at most
// kMaxAddresses.
std::vector<IpAddress> interleaved(std::vector<IpAddress> addresses);

}  // namespace hushgate::upstream
