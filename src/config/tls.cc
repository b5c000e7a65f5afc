// `tls` of listeners and of upstreams.
#include <utility>

#include "config/draft.h"

namespace hushgate::config {
namespace {

constexpr std::string_view kFields = "listen[].tls.certificates[].";

ServerCertificate read_certificate(const Value& value, const std::string& shown, Draft& draft) {
  ServerCertificate certificate;
  read_object(value, kFields, shown + '.', draft,
              [&](const Value& member, const Key& key, const std::string& name) {
                read_text(member, key, name, certificate, draft);
              });
  for (const std::string_view needed : {"certificate", "key"}) {
    if (value.type != Value::Type::object || value.find(needed) != nullptr) continue;
    draft.fault(place_of(draft, value.at),
                shown + ": " + std::string(needed) +
                    " is missing; it is { \"certificate\": \"chain.pem\", \"key\": \"key.pem\" }");
  }
  return certificate;
}

void read_certificates(const Value& value, const std::string& shown, ListenTls& tls, Draft& draft) {
  const Place place = place_of(draft, value.at);
  if (value.type != Value::Type::array) {
    return draft.wrong(place, shown, value.shown(),
                       "it must be an array of objects: [ { \"certificate\": \"chain.pem\", "
                       "\"key\": \"key.pem\" } ]");
  }
  if (value.items.empty() || value.items.size() > kMaxCertificates) {
    return draft.wrong(
        place, shown,
        value.items.empty() ? "empty" : std::to_string(value.items.size()) + " items long",
        "it must have 1 to " + std::to_string(kMaxCertificates));
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string name = shown + '[' + std::to_string(i) + ']';
    tls.certificates.push_back(read_certificate(value.items[i], name, draft));
  }
}

void check_client_ca(const Value& value, const std::string& shown, const ListenTls& tls,
                     Draft& draft) {
  const Value* ca = value.find("clientCa");
  const Value* said = value.find("clientCertificates");
  const Key* key = find_key("listen[].tls.clientCertificates");
  if (said != nullptr && !stored(*key, *said)) return;  // reported already
  const bool asks = tls.client_certificates != ClientCertificates::off;
  if (asks && ca == nullptr) {
    draft.fault(place_of(draft, value.at),
                shown +
                    ": clientCa is missing; clientCertificates needs the file of the "
                    "authorities that clients' certificates must come from");
  } else if (!asks && ca != nullptr) {
    draft.wrong(place_of(draft, ca->at), shown + ".clientCa", ca->shown(),
                "but clientCertificates is \"off\", so that nobody is asked for a certificate; set "
                "it to \"optional\" or \"required\", or leave clientCa out");
  }
}

const char* lonely(std::string_view given) {
  return given == "certificate" ? "certificate is given without key; a certificate needs its key"
                                : "key is given without certificate; a key needs its certificate";
}

std::string pointless_ca(const std::string& skipping) {
  return "nothing is verified against it while " + skipping +
         ".dangerouslySkipVerification is true; leave ca out, or set that to false";
}

void check_own(const Value& own, const std::string& shown, Upstream& upstream, Draft& draft) {
  const Value* ca = own.find("ca");
  const Value* skip = own.find("dangerouslySkipVerification");
  const Value* certificate = own.find("certificate");
  const Value* key = own.find("key");
  if ((certificate == nullptr) != (key == nullptr)) {
    const Value& given = certificate != nullptr ? *certificate : *key;
    draft.fault(place_of(draft, given.at), shown + ": " + lonely(given.key));
  }
  if (upstream.tls.verification != Verification::skipped) return;
  if (ca != nullptr) {
    draft.wrong(place_of(draft, ca->at), shown + ".ca", ca->shown(),
                pointless_ca(skip != nullptr ? shown : "upstream.tls"));
  }
}

}  // namespace

ListenTls read_listen_tls(const Value& value, const std::string& shown, Draft& draft) {
  ListenTls tls;
  read_object(value, "listen[].tls.", shown + '.', draft,
              [&](const Value& member, const Key& key, const std::string& name) {
                if (key.kind == Kind::objects) return read_certificates(member, name, tls, draft);
                if (key.kind == Kind::file) return read_text(member, key, name, tls, draft);
                read_field(member, key, name, tls, draft);
              });
  if (value.type != Value::Type::object) return tls;
  if (value.find("certificates") == nullptr) {
    draft.fault(place_of(draft, value.at),
                shown +
                    ": certificates is missing; add \"certificates\": [ { \"certificate\": "
                    "\"chain.pem\", \"key\": \"key.pem\" } ]");
  }
  check_client_ca(value, shown, tls, draft);
  return tls;
}

void read_upstream_tls(const Value& value, const std::string& shown, Upstream& upstream,
                       Draft& draft) {
  read_object(value, "upstream.tls.", shown + '.', draft,
              [&](const Value& member, const Key& key, const std::string& name) {
                if (std::holds_alternative<TextField<Upstream>>(key.field)) {
                  return read_text(member, key, name, upstream, draft);
                }
                read_field(member, key, name, upstream, draft);
              });
}

void check_upstream_tls_defaults(Draft& draft) {
  const auto& keys = draft.places.keys;
  const auto certificate = keys.find("upstream.tls.certificate");
  const auto key = keys.find("upstream.tls.key");
  if ((certificate == keys.end()) != (key == keys.end())) {
    draft.fault((key == keys.end() ? certificate : key)->second,
                std::string("upstream.tls: ") + lonely(key == keys.end() ? "certificate" : "key"));
  }
  const UpstreamTls& tls = draft.upstream_defaults.tls;
  const auto ca = keys.find("upstream.tls.ca");
  if (ca == keys.end() || tls.verification != Verification::skipped) return;
  draft.wrong(ca->second, "upstream.tls.ca", quoted(tls.ca), pointless_ca("upstream.tls"));
}

void settle_upstream_tls(const Value* own, const std::string& shown, std::optional<Scheme> scheme,
                         Upstream& upstream, Draft& draft) {
  if (scheme && *scheme != Scheme::https) {
    upstream.tls = {};
    if (own == nullptr) return;
    draft.fault(place_of(draft, own->key_at), shown + " is given, but url is " +
                                                  shown_url(upstream.url) +
                                                  "; write it with https://, or leave tls out");
  }
  if (own != nullptr) check_own(*own, shown, upstream, draft);
  // A default ca is no contradiction of an upstream that asks for no verification.
  if (upstream.tls.verification == Verification::skipped) upstream.tls.ca.clear();
}

}  // namespace hushgate::config
