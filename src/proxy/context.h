// What the sessions of one worker share. Used by that worker's thread only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "base/intrusive_list.h"
#include "base/log.h"
#include "http/fields.h"
#include "io/loop.h"
#include "io/wheel.h"
#include "proxy/generation.h"
#include "proxy/setup.h"
#include "stats/counters.h"
#include "upstream/services.h"

namespace hushgate::proxy {

class Exchange;
class H2Client;
class Session;
struct SessionTag {};
struct H2ClientTag {};
using SessionList = IntrusiveList<Session, SessionTag>;
using H2ClientList = IntrusiveList<H2Client, H2ClientTag>;

// Every session is in one of these, in the order in which it came there: shortage takes the oldest.
enum class Standing : std::uint8_t {
  fresh,  // has never sent anything
  kept,   // idle between two exchanges
  busy,   // head, exchange, tunnel, closing
};

// How many exchanges the session that ran last has begun in this turn.
struct Share {
  const Session* session = nullptr;  // compared only
  Time turn{};
  int exchanges = 0;
};

enum class Stage : std::uint8_t { serving, stopping };

struct Context {
  io::Loop& loop;
  io::Wheel& wheel;
  stats::Counters& counters;
  LogBuffer& log;
  Generations generations;
  std::mt19937_64 random;

  std::array<SessionList, 3> sessions;  // by Standing
  // Connections of clients that speak HTTP/2; their streams are sessions as well.
  H2ClientList h2_clients;
  H2ClientList h2_idle;  // those without a stream, in the order in which they came to have none
  std::size_t session_count = 0;  // of both
  Stage stage = Stage::serving;
  std::atomic<std::uint32_t>* shared_clients = nullptr;  // open client connections of the process
  io::Runnable* drained = nullptr;  // made ready when the last session has gone

  Share share;

  http::FieldList response_fields;  // empty; room for whoever reads a head now

  // Exchanges are used again, so that their buffers need no allocation once warm.
  std::unique_ptr<Exchange> take_exchange();
  void give_back(std::unique_ptr<Exchange> exchange);  // it was reset

  Context(const upstream::Services& services, SetupPtr setup, std::uint64_t seed);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  // Of what begins now; an exchange has its own. Valid until the next reload.
  const Setup& setup() { return *generations.current().setup; }
  const Limits& limits() { return setup().config.limits; }
  SessionList& list(Standing standing) { return sessions[static_cast<std::size_t>(standing)]; }

 private:
  std::vector<std::unique_ptr<Exchange>> spare_exchanges_;
};

}  // namespace hushgate::proxy
