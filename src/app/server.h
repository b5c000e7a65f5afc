// All workers of a process.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "app/worker.h"
#include "base/log.h"
#include "config/model.h"
#include "io/io_choice.h"
#include "proxy/gateway.h"
#include "proxy/setup.h"
#include "upstream/resolver.h"

namespace hushgate::app {

class Server {
 public:
  explicit Server(const config::Config& config);

  // Makes the workers and opens every listener. The failure is a sentence for people.
  std::expected<void, std::string> open();
  // "listening on 127.0.0.1:8787", one per address. After open().
  const std::vector<std::string>& listening() const { return listening_; }
  // Of each of `listen`, in its order: the kernel has chosen the port where it was 0.
  const std::vector<SocketAddress>& addresses() const { return addresses_; }

  // In force now.
  const config::Config& config() const { return setup_->config; }
  // What is to be known of the certificates in force. After open().
  const std::vector<std::string>& warnings() const { return warnings_; }

  enum class Adopted : std::uint8_t { nothing, config, tls, both };  // what differs from before
  // Between start() and stop(): all workers serve what begins from now on by `config`, whose keys
  // that need a restart are those of config(), and by its files of TLS, which are read again. Waits
  // until they do. With faults, of which each is a sentence, nothing has changed.
  std::expected<Adopted, std::vector<std::string>> adopt(config::Config config);

  // `all_ended` is called on the last worker's thread.
  void start(std::function<void()> all_ended);
  void stop();
  void cut();
  void tell_waiting();
  bool ended() const { return running_.load() == 0; }
  std::uint32_t clients() const { return shared_.clients.load(std::memory_order_relaxed); }
  LogSink& sink() { return sink_; }
  LogFormat format() const { return format_; }
  // "epoll; ...", with the reason. After open().
  const std::string& backend() const { return backend_.reason; }

 private:
  enum class Which : std::uint8_t { gateway, admin };
  // Where a listener leads, and the key that names it to people.
  struct Door {
    std::string key{};
    Which which = Which::gateway;
    std::size_t index = 0;  // of Config::listen
  };
  std::expected<void, std::string> open_everywhere(const config::ListenAddress& listen,
                                                   const Door& door);
  std::expected<SocketAddress, std::string> open_on_workers(SocketAddress address,
                                                            const Door& door);
  std::string cannot_listen(const SocketAddress& address, const Door& door, Error error) const;

  std::uint32_t max_clients(const config::Config& config) const;
  void serve_by_setup();

  std::uint64_t descriptor_limit_;
  proxy::TlsMaker tls_;
  std::vector<std::string> warnings_;
  proxy::SetupPtr setup_;
  proxy::Shared shared_;
  StderrSink sink_;
  LogFormat format_;
  io::BackendChoice backend_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> running_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
  upstream::SystemNames names_;  // ends before the loops that it answers to
  std::vector<std::string> listening_;
  std::vector<SocketAddress> addresses_;
};

}  // namespace hushgate::app
