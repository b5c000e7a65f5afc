#include "io/sim.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "io/sim_stream.h"

namespace hushgate::io {
namespace {

class SimBackend final : public Backend, private SimHome {
 public:
  SimBackend(SimNetwork& network, SimHost& host, const SimBackendOptions& options)
      : network_(network), host_(host), options_(options), buffer_(options.lease_bytes) {}
  ~SimBackend() override {
    reap();
    HG_ASSERT(free_.size() == streams_.size());
  }

  Time now() override { return network_.now(); }
  void collect(Time until, ReadyList& ready) override;
  void wake() override { woken_.store(true, std::memory_order_release); }
  void reap() override;
  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address,
                                           const ListenOptions& options,
                                           AcceptHandler& handler) override;
  Result<StreamPtr> connect(const SocketAddress& address, const ConnectOptions& options,
                            Runnable* owner) override;
  const char* name() const override { return "sim"; }

 private:
  SimNetwork& network() override { return network_; }
  const SimBackendOptions& options() const override { return options_; }
  SharedBuffer& buffer() override { return buffer_; }
  void pending(SimStream& stream) override { pending_streams_.push_back(&stream); }
  void pending(SimStreamListener& listener) override { pending_listeners_.push_back(&listener); }
  void closed(SimStream& stream) override { closed_.push_back(&stream); }
  void closed(SimStreamListener& listener) override { std::erase(pending_listeners_, &listener); }
  SimStream& fresh_stream() override;

  void look(ReadyList& ready);

  SimNetwork& network_;
  SimHost& host_;
  SimBackendOptions options_;
  SharedBuffer buffer_;
  std::vector<std::unique_ptr<SimStream>> streams_;
  std::vector<SimStream*> free_;
  std::vector<SimStream*> closed_;
  std::vector<SimStream*> pending_streams_;
  std::vector<SimStreamListener*> pending_listeners_;
  std::atomic<bool> woken_{false};
};

void SimBackend::look(ReadyList& ready) {
  for (SimStream* stream : pending_streams_) stream->look(ready);
  pending_streams_.clear();
  for (SimStreamListener* listener : pending_listeners_) listener->look(ready);
  pending_listeners_.clear();
}

void SimBackend::collect(Time until, ReadyList& ready) {
  network_.spend(options_.turn_cost);
  while (network_.step(network_.now())) {
  }
  for (;;) {
    look(ready);
    const bool woken = woken_.exchange(false, std::memory_order_acquire);
    if (!ready.empty() || woken || network_.now() >= until) return;
    if (!network_.step(until)) break;
  }
  look(ready);
}

void SimBackend::reap() {
  HG_ASSERT(!buffer_.lent());
  free_.insert(free_.end(), closed_.begin(), closed_.end());
  closed_.clear();
}

SimStream& SimBackend::fresh_stream() {
  if (free_.empty()) {
    streams_.push_back(std::make_unique<SimStream>(static_cast<SimHome&>(*this)));
    return *streams_.back();
  }
  SimStream& stream = *free_.back();
  free_.pop_back();
  return stream;
}

Result<std::unique_ptr<Listener>> SimBackend::listen(const SocketAddress& address,
                                                     const ListenOptions& options,
                                                     AcceptHandler& handler) {
  if (host_.descriptors >= host_.descriptor_limit) return fail(ErrorKind::internal_fault, EMFILE);
  auto listener = std::make_unique<SimStreamListener>(static_cast<SimHome&>(*this), handler);
  auto queue = network_.listen(host_, address, options.backlog, listener.get());
  listener->set_address(queue->address);
  listener->start(std::move(queue));
  return listener;
}

Result<StreamPtr> SimBackend::connect(const SocketAddress& address, const ConnectOptions& options,
                                      Runnable* owner) {
  const Result<SimSocket> socket = network_.connect(host_, address, options, nullptr);
  if (!socket) return std::unexpected(socket.error());
  SimStream& stream = fresh_stream();
  network_.end(*socket).set_user(&stream);
  stream.open(*socket, owner);
  return StreamPtr(&stream);
}

}  // namespace

std::unique_ptr<Backend> make_sim_backend(SimNetwork& network, SimHost& host,
                                          const SimBackendOptions& options) {
  HG_ASSERT(options.lease_bytes > 0);
  return std::make_unique<SimBackend>(network, host, options);
}

}  // namespace hushgate::io
