// What surrounds the gateway in a life besides its peers: settings, names, the log, the reserve.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/log.h"
#include "proxy/gateway.h"
#include "proxy/setup.h"
#include "tests/swarm/stage.h"

namespace hushgate::swarm {

// The configuration of a plan, with the changes of `reload` where it is not null.
proxy::SetupPtr make_setup(const Plan& plan, const Ordeal* reload);

// Log lines go to the journal.
class JournalSink final : public LogSink {
 public:
  JournalSink(Journal& journal, const io::SimNetwork& network)
      : journal_(journal), network_(network) {}
  void write(std::string_view lines) override;
  std::uint64_t dropped() const override { return 0; }

 private:
  Journal& journal_;
  const io::SimNetwork& network_;
};

// Answers as the plan's names say: the n-th question about a name is given the n-th answer.
class PlanNames final : public upstream::NameSource {
 public:
  explicit PlanNames(const Stage& stage) : stage_(stage) {}
  void query(io::Loop& loop, const std::string& host,
             std::function<void(upstream::NameAnswer)> done) override;

 private:
  upstream::NameAnswer answer(std::size_t upstream, const NamePlan& plan) const;

  Stage stage_;
  std::map<std::string, std::size_t> asked_;
};

// One descriptor of the host, kept back.
class SimReserve final : public proxy::Reserve {
 public:
  explicit SimReserve(io::SimHost& host) : host_(host) {}
  bool release() override;
  bool refill() override;

 private:
  io::SimHost& host_;
  bool held_ = true;
};

}  // namespace hushgate::swarm
