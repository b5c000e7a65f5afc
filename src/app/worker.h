// A thread with its loop, its gateway and its part of the listeners.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "admin/site.h"
#include "base/log.h"
#include "base/result.h"
#include "io/io_choice.h"
#include "io/loop.h"
#include "io/process.h"
#include "proxy/gateway.h"
#include "proxy/setup.h"
#include "upstream/resolver.h"

namespace hushgate::app {

class Worker {
 public:
  struct Parts {
    proxy::SetupPtr setup;
    proxy::Shared& shared;
    LogSink& sink;
    LogFormat format;
    upstream::NameSource& names;
    const std::atomic<bool>& stopping;  // for /healthz
    io::BackendChoice::Kind backend;
  };
  static Result<std::unique_ptr<Worker>> make(const Parts& parts);
  Worker(const Parts& parts, std::unique_ptr<io::Backend> backend);  // see make()
  ~Worker();

  // Before start(). Returns the address with its port.
  // `index`: in Config::listen.
  Result<SocketAddress> listen(const SocketAddress& address, std::size_t index);
  Result<SocketAddress> listen_admin(const SocketAddress& address);

  // Runs the loop on a thread of its own until it was stopped and nothing is left; then `ended` is
  // called there.
  void start(std::function<void()> ended);
  // From any thread.
  // `adopted` is called on the worker's thread when it serves by `setup`.
  void adopt(proxy::SetupPtr setup, std::function<void()> adopted);
  void stop();
  void cut();
  void tell_waiting();

 private:
  class Reserve final : public proxy::Reserve {
   public:
    bool release() override { return descriptor_.release(); }
    bool refill() override { return descriptor_.refill(); }

   private:
    io::ReserveDescriptor descriptor_;
  };

  // Lines wait for company: a turn has few of them, and each handing over wakes the writer.
  class Flush final : public io::Runnable {
   public:
    explicit Flush(LogBuffer& log) : log_(log) {}
    void run() override { log_.flush(); }

   private:
    LogBuffer& log_;
  };

  void run();
  void flush_soon();

  io::Loop loop_;
  LogBuffer log_;
  Flush flush_{log_};
  io::Alarm flush_alarm_{flush_};
  Reserve reserve_;
  admin::AdminSite admin_;
  proxy::Gateway gateway_;
  std::function<void()> ended_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace hushgate::app
