// A world whose peers speak HTTP/2 with the gateway, on the sides that are named.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/h2_peer.h"
#include "tests/sim/tls_world.h"

namespace hushgate::sim {

enum class Speaks : std::uint8_t { http1, http2 };

struct Sides {
  Speaks clients = Speaks::http2;  // cleartext ones may still speak either
  Speaks upstreams = Speaks::http2;
  std::shared_ptr<Spoken> tls{};  // null: in the clear
};

inline int choose_h2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in,
                     unsigned in_size, void*) {
  static constexpr unsigned char kH2[] = {2, 'h', '2'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, size, kH2, sizeof kH2, in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// TLS by which each side of `sides` comes to speak what it does.
inline std::shared_ptr<Spoken> spoken_for(Speaks clients, Speaks upstreams) {
  static constexpr unsigned char kH2[] = {2, 'h', '2'};
  auto spoken = std::make_shared<Spoken>();
  if (clients == Speaks::http2) SSL_CTX_set_alpn_protos(spoken->client.get(), kH2, sizeof kH2);
  if (upstreams == Speaks::http2) {
    SSL_CTX_set_alpn_select_cb(spoken->upstream.get(), choose_h2, nullptr);
  }
  return spoken;
}

inline proxy::SetupPtr h2_setup(const Change& change, const Sides& sides) {
  const bool to_h2 = sides.upstreams == Speaks::http2;
  const Change all = [&](config::Config& config) {
    if (sides.tls) speak_tls(config);
    const config::Protocol h2 = sides.tls ? config::Protocol::http2 : config::Protocol::h2c;
    config.upstreams.front().protocol = to_h2 ? h2 : config::Protocol::http1;
    if (change) change(config);
  };
  if (!sides.tls) return make_setup(all);
  Gate gate;
  gate.listener.alpn = {"h2", "http/1.1"};
  if (to_h2) gate.upstream.alpn = {"h2"};
  return make_setup(all, gate.make());
}

class H2World : public World {
 public:
  explicit H2World(const Change& change = {}, const Sides& the_sides = {},
                   const Weather& the_weather = {})
      : World(h2_setup(change, the_sides), the_sides.tls ? speech_of(the_sides.tls) : Speech{},
              10'000, the_weather),
        sides(the_sides) {
    if (sides.upstreams != Speaks::http2) return;
    upstream.on_bytes = [this](Party& party) { up_of(party).hear(); };
  }
  // What peers hear from now on is nobody's.
  ~H2World() {
    upstream.on_bytes = nullptr;
    for (const auto& party : upstream.parties) party->on_bytes = nullptr;
    for (const auto& party : clients) party->on_bytes = nullptr;
  }

  // A client whose connection is open, and that has said its preface.
  H2Peer& connect(const H2Peer::Manner& manner = {}) {
    Party& party = open();
    auto peer = std::make_unique<H2Peer>(network, party, H2Peer::Role::client, manner);
    party.on_bytes = [it = peer.get()](Party&) { it->hear(); };
    peers_.push_back(std::move(peer));
    return *peers_.back();
  }

  // The upstream's ends that have heard something, in the order of that.
  H2Peer& up(std::size_t index) { return *ups.at(index); }
  // A stream that has reached an upstream, by its path.
  std::pair<H2Peer*, H2Stream*> find(const std::string& path) {
    for (H2Peer* const peer : ups) {
      for (auto& [id, stream] : peer->streams()) {
        if (stream.path() == path) return {peer, &stream};
      }
    }
    return {nullptr, nullptr};
  }
  // Upstreams answer whole requests by themselves, from their next connection on.
  void answer_all() {
    on_upstream = [](H2Peer& peer) {
      peer.on_message = [](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, "ok"); };
    };
  }

  Sides sides;
  H2Peer::Manner upstream_manner;
  std::function<void(H2Peer&)> on_upstream;  // a connection has come
  std::vector<H2Peer*> ups;

 private:
  H2Peer& up_of(Party& party) {
    H2Peer*& peer = up_by_party_[&party];
    if (peer != nullptr) return *peer;
    peers_.push_back(
        std::make_unique<H2Peer>(network, party, H2Peer::Role::server, upstream_manner));
    peer = peers_.back().get();
    ups.push_back(peer);
    if (on_upstream) on_upstream(*peer);
    return *peer;
  }

  std::vector<std::unique_ptr<H2Peer>> peers_;
  std::map<const Party*, H2Peer*> up_by_party_;
};

inline Fields request(const std::string& method, const std::string& path, const Fields& more = {}) {
  Fields fields{
      {":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "a.test"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}
inline Fields get(const std::string& path = "/") { return request("GET", path); }

inline H2Stream& post(H2Peer& client, const std::string& path, std::string_view body) {
  H2Stream& stream = client.ask(request("POST", path), Last::no);
  client.data(stream.id, body, Last::yes);
  return stream;
}

}  // namespace hushgate::sim
