// A world whose peers speak TLS with the gateway, on both sides.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/tls_wire.h"
#include "tests/sim/world.h"
#include "tls/testing.h"

namespace hushgate::sim {

// What those speak with that come from now on; shared by a world and its script. Null: bare bytes.
struct Spoken {
  Spoken() = default;
  Spoken(const Spoken&) = delete;

  tls::ContextPtr client = tls::plain_context(TLS_client_method());
  tls::ContextPtr upstream = upstream_context(tls::usual_leaf());
  tls::SessionPtr session;           // what clients resume
  bool upstream_holds = false;       // upstreams do not read the handshake
  std::vector<std::string> tickets;  // that were shown to upstreams (PSK identities)

  tls::ContextPtr upstream_context(const tls::Pem& pem) {
    tls::ContextPtr context = tls::plain_context(TLS_server_method());
    tls::use(context.get(), pem);
    SSL_CTX_set_client_hello_cb(context.get(), note_ticket, this);
    return context;
  }

 private:
  static int note_ticket(SSL* ssl, int*, void* self) {
    const unsigned char* bytes = nullptr;
    std::size_t size = 0;
    // Two lengths, then the first identity (RFC 8446 section 4.2.11).
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &bytes, &size) == 1 && size > 4) {
      const std::size_t length = (std::size_t{bytes[2]} << 8U) + bytes[3];
      static_cast<Spoken*>(self)->tickets.emplace_back(reinterpret_cast<const char*>(bytes) + 4,
                                                       std::min(length, size - 4));
    }
    return SSL_CLIENT_HELLO_SUCCESS;
  }
};

inline Speech speech_of(const std::shared_ptr<Spoken>& spoken) {
  Speech speech;
  speech.client = [spoken](std::unique_ptr<io::SimPeer> peer) -> std::unique_ptr<Wire> {
    if (!spoken->client) return Speech::bare(std::move(peer));
    return std::make_unique<TlsWire>(std::move(peer), spoken->client.get(), TlsWire::Role::client,
                                     spoken->session.get());
  };
  speech.upstream = [spoken](std::unique_ptr<io::SimPeer> peer) -> std::unique_ptr<Wire> {
    if (!spoken->upstream) return Speech::bare(std::move(peer));
    auto wire =
        std::make_unique<TlsWire>(std::move(peer), spoken->upstream.get(), TlsWire::Role::server);
    if (spoken->upstream_holds) wire->hold();
    return wire;
  };
  speech.opening_ways = 5;  // TLS 1.3
  speech.reaching_ways = 5;
  return speech;
}

// What the gateway speaks with.
struct Gate {
  std::shared_ptr<tls::TicketKeys> ticket_keys = std::make_shared<tls::TicketKeys>();
  tls::ServerOptions listener{.alpn = {"http/1.1"}, .ticket_keys = ticket_keys};
  tls::ClientOptions upstream{.alpn = {"http/1.1"}};

  proxy::TlsSetup make() const {
    return {.listeners = {tls::server_context(listener)},
            .upstreams = {tls::client_context(upstream)}};
  }
};

inline void speak_tls(config::Config& config) {
  config.listen.resize(1);
  config.listen.front().tls.emplace();
  config::Upstream& upstream = config.upstreams.front();
  upstream.scheme = config::Scheme::https;
  upstream.url = "https://10.0.1.1:3000";
  upstream.tls.server_name = "api.example.com";
}

inline Change and_tls(const Change& change) {
  return [change](config::Config& config) {
    speak_tls(config);
    if (change) change(config);
  };
}

class TlsWorld : public World {
 public:
  explicit TlsWorld(const Change& change = {}, const Gate& the_gate = {},
                    std::uint32_t max_clients = 10'000)
      : TlsWorld(std::make_shared<Spoken>(), change, the_gate, max_clients) {}
  TlsWorld(std::shared_ptr<Spoken> the_spoken, const Change& change, const Gate& the_gate,
           std::uint32_t max_clients = 10'000)
      : World(make_setup(and_tls(change), the_gate.make()), speech_of(the_spoken), max_clients),
        spoken(std::move(the_spoken)),
        gate(the_gate) {}

  // With what `gate` says now. What is not changed there is the same context as before.
  void reload(const Change& change, bool new_listener, bool new_upstream) {
    proxy::TlsSetup tls = setup->tls;
    if (new_listener) tls.listeners = {tls::server_context(gate.listener)};
    if (new_upstream) tls.upstreams = {tls::client_context(gate.upstream)};
    setup = make_setup(and_tls(change), tls);
    gateway->adopt(setup);
  }

  std::shared_ptr<Spoken> spoken;
  Gate gate;
};

// The TLS of a party that speaks it.
inline TlsWire& tls_of(Party& party) { return dynamic_cast<TlsWire&>(party.wire()); }

}  // namespace hushgate::sim
