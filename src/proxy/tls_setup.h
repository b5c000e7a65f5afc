// The TLS of one configuration: what its listeners and its upstreams speak with, made from files.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "config/model.h"
#include "tls/client_context.h"
#include "tls/server_context.h"

namespace hushgate::proxy {

struct TlsSetup {
  // As Config::listen; null: cleartext.
  std::vector<tls::ServerContext::Pointer> listeners{};
  // As Config::upstreams; null: no TLS.
  std::vector<tls::ClientContext::Pointer> upstreams{};

  friend bool operator==(const TlsSetup&, const TlsSetup&) = default;
};

// Makes them; one for a process, because tickets outlive what a reload replaces.
class TlsMaker {
 public:
  struct Made {
    TlsSetup setup;
    std::vector<std::string> warnings{};  // certificates that have expired, or soon will
  };
  // Reads every file. The error is a sentence for each fault: which key, which file, what is wrong,
  // what would be right. What was made before from the same settings and the same bytes is the same
  // object again, so that nothing changes for its connections.
  std::expected<Made, std::vector<std::string>> make(const config::Config& config);

 private:
  template <typename Context>
  struct Known {
    std::uint64_t print;
    std::weak_ptr<const Context> context;
  };

  // Made when they are first wanted: a gateway without TLS pays for none of it.
  std::shared_ptr<tls::TicketKeys> ticket_keys_;
  std::shared_ptr<const tls::SystemRoots> roots_;
  std::vector<Known<tls::ServerContext>> listeners_;
  std::vector<Known<tls::ClientContext>> upstreams_;
};

// Every file that make() reads.
std::vector<std::string> tls_files(const config::Config& config);

}  // namespace hushgate::proxy
