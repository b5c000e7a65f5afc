// The groups, listen and admin: from the file, and by their texts from the environment and the
// command line.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "config/draft.h"

namespace hushgate::config {
namespace {

// Null, if it is no address; that is reported then.
ListenAddress* add_listen(std::string_view text, const Place& place, const std::string& shown,
                          Draft& draft) {
  auto listen = parse_listen(text);
  if (!listen) {
    draft.wrong(place, shown, quoted(text), listen.error());
    return nullptr;
  }
  draft.places.listen.push_back(place);
  return &draft.config.listen.emplace_back(std::move(*listen));
}

void clear_listen(Draft& draft) {
  draft.config.listen.clear();
  draft.places.listen.clear();
  draft.places.listen_given = true;
}

void set_admin(std::string_view text, const Place& place, Draft& draft) {
  auto admin = parse_listen(text);
  if (!admin) return draft.wrong(place, "admin", quoted(text), admin.error());
  draft.config.admin = std::move(*admin);
  draft.places.admin = place;
}

void add_proxy(std::string_view text, const Place& place, const std::string& shown, Draft& draft) {
  const auto block = parse_cidr(text);
  if (!block) return draft.wrong(place, shown, quoted(text), block.error());
  draft.config.client.trusted_proxies.push_back(*block);
}

void add_source(std::string_view text, const Place& place, const std::string& shown,
                Upstream& upstream, Draft& draft) {
  const auto address = parse_source_address(text);
  if (!address) return draft.wrong(place, shown, quoted(text), address.error());
  upstream.source_addresses.push_back(*address);
}

void read_listen_item(const Value& item, const std::string& shown, Draft& draft) {
  if (item.type == Value::Type::string) {
    add_listen(item.text, place_of(draft, item.at), shown, draft);
    return;
  }
  if (item.type != Value::Type::object) {
    return draft.wrong(place_of(draft, item.at), shown, item.shown(),
                       "it must be a string like \"127.0.0.1:8787\", or an object with address");
  }
  ListenAddress* listen = nullptr;
  std::optional<ListenTls> tls;
  ListenAddress extras;  // `http2`
  read_object(item, "listen[].", shown + '.', draft,
              [&](const Value& member, const Key& key, const std::string& name) {
                if (key.path == "listen[].tls") {
                  tls = read_listen_tls(member, name, draft);
                } else if (key.path == "listen[].http2") {
                  read_field(member, key, name, extras, draft);
                } else if (member.type == Value::Type::string) {
                  listen = add_listen(member.text, place_of(draft, member.at), name, draft);
                } else {
                  draft.wrong(place_of(draft, member.at), name, member.shown(),
                              "it must be " + requirement(key));
                }
              });
  if (listen != nullptr) {
    listen->tls = std::move(tls);
    listen->http2 = extras.http2;
  }
  if (item.find("address") == nullptr) {
    draft.fault(place_of(draft, item.at),
                shown + ": address is missing; add \"address\": \"127.0.0.1:8787\"");
  }
}

void read_listen(const Value& value, Draft& draft) {
  clear_listen(draft);
  if (value.type != Value::Type::array) return read_listen_item(value, "listen", draft);
  if (value.items.empty() || value.items.size() > kMaxListeners) {
    return draft.wrong(
        place_of(draft, value.at), "listen",
        value.items.empty() ? "empty" : std::to_string(value.items.size()) + " items long",
        "it must have 1 to " + std::to_string(kMaxListeners) + " addresses");
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    read_listen_item(value.items[i], "listen[" + std::to_string(i) + ']', draft);
  }
}

void read_admin(const Value& value, Draft& draft) {
  if (value.type == Value::Type::string) {
    return set_admin(value.text, place_of(draft, value.at), draft);
  }
  draft.wrong(place_of(draft, value.at), "admin", value.shown(),
              "it must be a string like \"127.0.0.1:8788\"");
}

void read_config_member(const Value& member, const Key& key, const std::string& shown,
                        Draft& draft) {
  if (std::holds_alternative<Field<Config>>(key.field)) {
    return read_field(member, key, shown, draft.config, draft);
  }
  HG_ASSERT(key.path == "client.trustedProxies");
  draft.config.client.trusted_proxies.clear();
  read_texts(member, shown, kMaxCidrs, draft, [&](const Value& item, const std::string& name) {
    add_proxy(item.text, place_of(draft, item.at), name, draft);
  });
}

// An address by its text alone stands for cleartext.
void warn_of_lost_tls(const Place& place, Draft& draft) {
  const auto& listen = draft.config.listen;
  if (std::ranges::none_of(listen, [](const ListenAddress& each) { return each.tls.has_value(); }))
    return;
  draft.warnings.push_back({place,
                            "this takes the place of listen in the file, which has tls; here "
                            "nothing has it, and clients are served in cleartext"});
}

// "a,b" -> item("a"), item("b"); at most `most`.
template <typename Item>
void split(std::string_view text, const Key& key, const Place& place, std::size_t most,
           Draft& draft, Item item) {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (++count > most) {
      return draft.wrong(place, key.path, "more than " + std::to_string(most) + " items long",
                         "it must have fewer");
    }
    item(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

void read_upstream_member(const Value& member, const Key& key, std::string_view shown,
                          Upstream& upstream, Draft& draft) {
  if (std::holds_alternative<Field<Upstream>>(key.field)) {
    return read_field(member, key, shown, upstream, draft);
  }
  if (key.path == "upstream.tls") {
    return read_upstream_tls(member, std::string(shown), upstream, draft);
  }
  HG_ASSERT(key.path == "upstream.sourceAddresses");
  upstream.source_addresses.clear();
  read_texts(member, std::string(shown), kMaxSourceAddresses, draft,
             [&](const Value& item, const std::string& name) {
               add_source(item.text, place_of(draft, item.at), name, upstream, draft);
             });
}

void read_settings(const Value& root, Draft& draft) {
  read_object(root, "", "", draft,
              [&](const Value& member, const Key& key, const std::string& shown) {
                if (key.path == "listen") return read_listen(member, draft);
                if (key.path == "admin") return read_admin(member, draft);
                if (key.path == "upstreams" || key.path == "routes") return;  // read_structure
                if (key.kind != Kind::group) return read_config_member(member, key, shown, draft);
                const std::string prefix = shown + '.';
                read_object(member, prefix, prefix, draft,
                            [&](const Value& inner, const Key& inner_key, const std::string& name) {
                              if (key.path == "upstream") {
                                read_upstream_member(inner, inner_key, name,
                                                     draft.upstream_defaults, draft);
                              } else {
                                read_config_member(inner, inner_key, name, draft);
                              }
                            });
              });
}

void read_override(const Key& key, std::string_view text, const Place& place, Draft& draft) {
  HG_ASSERT(key.overridable());
  const std::string shown(key.path);
  if (key.path == "admin") return set_admin(text, place, draft);
  if (key.path == "listen") {
    warn_of_lost_tls(place, draft);
    clear_listen(draft);
    return split(text, key, place, kMaxListeners, draft,
                 [&](std::string_view item) { add_listen(item, place, shown, draft); });
  }
  if (key.path == "client.trustedProxies") {
    draft.config.client.trusted_proxies.clear();
    return split(text, key, place, kMaxCidrs, draft,
                 [&](std::string_view item) { add_proxy(item, place, shown, draft); });
  }
  if (key.path == "upstream.sourceAddresses") {
    draft.upstream_defaults.source_addresses.clear();
    return split(text, key, place, kMaxSourceAddresses, draft, [&](std::string_view item) {
      add_source(item, place, shown, draft.upstream_defaults, draft);
    });
  }
  if (const auto* of_upstream = std::get_if<TextField<Upstream>>(&key.field)) {
    draft.places.keys[key.path] = place;
    auto kept = stored_text(key, text, draft.working_folder);
    if (!kept) return draft.wrong(place, shown, quoted(text), kept.error());
    return of_upstream->set(draft.upstream_defaults, std::move(*kept));
  }
  const auto value = stored(key, text);
  if (!value) return draft.wrong(place, shown, quoted(text), "it must be " + requirement(key));
  if (const auto* of_config = std::get_if<Field<Config>>(&key.field)) {
    of_config->set(draft.config, *value);
  } else {
    std::get<Field<Upstream>>(key.field).set(draft.upstream_defaults, *value);
  }
  draft.places.keys[key.path] = place;
}

}  // namespace hushgate::config
