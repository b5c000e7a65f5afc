#include "config/print.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "config/schema.h"

namespace hushgate::config {
namespace {

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <typename Items, typename Text>
std::string json_strings(const Items& items, Text text) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ", ";
    out += json_string(text(item));
  }
  return out + ']';
}

enum class Comments : std::uint8_t { shown, hidden };

// Collects the members of one object or array and puts the commas between them.
class Block {
 public:
  void add(std::string text, std::string comment = {}) {
    lines_.push_back({std::move(text), std::move(comment)});
  }

  std::string printed(std::string_view open, std::string_view close,
                      std::string_view indent) const {
    std::string out(open);
    out += '\n';
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      out += std::string(indent) + "  " + lines_[i].text;
      if (i + 1 < lines_.size()) out += ',';
      if (!lines_[i].comment.empty()) out += "  // " + lines_[i].comment;
      out += '\n';
    }
    return out + std::string(indent) + std::string(close);
  }

 private:
  struct Line {
    std::string text;
    std::string comment;
  };
  std::vector<Line> lines_;
};

std::string member(std::string_view name, std::string_view value) {
  return json_string(name) + ": " + std::string(value);
}

std::string comment_of(const Key& key, std::optional<std::uint64_t> value, Comments comments) {
  if (comments == Comments::hidden) return {};
  std::string comment(key.meaning);
  const auto by_default = key.default_value();
  if (value && by_default && value != by_default) {
    comment += " (default: " + shown_value(key, *by_default) + ')';
  }
  return comment;
}

// All keys right below `prefix` that are fields of `owner` and set.
template <typename Owner>
void add_fields(std::string_view prefix, const Owner& owner, Comments comments, Block& block) {
  for (const Key& key : schema()) {
    if (!key.path.starts_with(prefix) || key.path.substr(prefix.size()).contains('.')) continue;
    if (const auto* field = std::get_if<Field<Owner>>(&key.field)) {
      const auto value = field->get(owner);
      if (!value) continue;
      block.add(member(key.name(), shown_value(key, *value)), comment_of(key, value, comments));
    }
    if constexpr (std::is_constructible_v<decltype(Key::field), TextField<Owner>>) {
      const auto* text = std::get_if<TextField<Owner>>(&key.field);
      if (text == nullptr || text->get(owner).empty()) continue;
      block.add(member(key.name(), json_string(text->get(owner))),
                comment_of(key, std::nullopt, comments));
    }
  }
}

void add_texts(std::string_view path, const std::string& value, Comments comments, Block& block) {
  const Key* key = find_key(path);
  HG_ASSERT(key != nullptr);
  block.add(member(key->name(), value), comment_of(*key, std::nullopt, comments));
}

std::string group_of(std::string_view prefix, const Config& config) {
  Block block;
  add_fields(prefix, config, Comments::shown, block);
  if (prefix == "client.") {
    const auto& proxies = config.client.trusted_proxies;
    add_texts("client.trustedProxies",
              json_strings(proxies, [](const Cidr& c) { return c.to_string(); }), Comments::shown,
              block);
  }
  return block.printed("{", "}", "  ");
}

std::string tls_of(const ListenTls& tls, Comments comments) {
  Block certificates;
  for (const ServerCertificate& each : tls.certificates) {
    certificates.add("{ " + member("certificate", json_string(each.certificate)) + ", " +
                     member("key", json_string(each.key)) + " }");
  }
  Block block;
  add_texts("listen[].tls.certificates", certificates.printed("[", "]", "        "),
            Comments::hidden, block);
  add_fields("listen[].tls.", tls, comments, block);
  return block.printed("{", "}", "      ");
}

// Whether its address alone says it all.
bool is_plain(const ListenAddress& listen) {
  return !listen.tls && listen.http2 == ListenAddress{}.http2;
}

// One line, unless an object is among them.
std::string listen_of(const Config& config) {
  const auto& listen = config.listen;
  if (std::ranges::all_of(listen, is_plain))
    return json_strings(listen, [](const ListenAddress& each) { return each.text; });
  Block block;
  Comments comments = Comments::shown;
  for (const ListenAddress& each : listen) {
    if (is_plain(each)) {
      block.add(json_string(each.text));
      continue;
    }
    Block keys;
    keys.add(member("address", json_string(each.text)));
    if (each.tls) keys.add(member("tls", tls_of(*each.tls, comments)));
    add_fields("listen[].", each, comments, keys);
    block.add(keys.printed("{", "}", "    "));
    comments = Comments::hidden;
  }
  return block.printed("[", "]", "  ");
}

std::string upstreams_of(const Config& config) {
  Block block;
  Comments comments = Comments::shown;
  Comments comments_of_tls = Comments::shown;
  for (const Upstream& upstream : config.upstreams) {
    Block keys;
    add_texts("upstreams.*.url", json_string(upstream.url), comments, keys);
    add_fields("upstream.", upstream, comments, keys);
    add_texts(
        "upstream.sourceAddresses",
        json_strings(upstream.source_addresses, [](const IpAddress& ip) { return ip.to_string(); }),
        comments, keys);
    if (upstream.scheme == Scheme::https) {
      Block tls;
      add_fields("upstream.tls.", upstream, comments_of_tls, tls);
      keys.add(member("tls", tls.printed("{", "}", "      ")));
      comments_of_tls = Comments::hidden;
    }
    block.add(member(upstream.name, keys.printed("{", "}", "    ")));
    comments = Comments::hidden;
  }
  return block.printed("{", "}", "  ");
}

std::string routes_of(const Config& config) {
  Block block;
  for (const Route& route : config.routes) {
    std::string text = "{ " + member("path", json_string(route.path)) + ", " +
                       member("upstream", json_string(config.upstreams.at(route.upstream).name));
    for (const Key& key : schema()) {
      const auto* field = std::get_if<Field<Route>>(&key.field);
      const auto value = field == nullptr ? std::nullopt : field->get(route);
      if (!value || (key.kind == Kind::boolean && *value == 0)) continue;
      text += ", " + member(key.name(), shown_value(key, *value));
    }
    block.add(text + " }");
  }
  return block.printed("[", "]", "  ");
}

}  // namespace

std::string to_jsonc(const Config& config) {
  Block block;
  add_texts("listen", listen_of(config), Comments::shown, block);
  if (config.admin) add_texts("admin", json_string(config.admin->text), Comments::shown, block);
  add_fields("", config, Comments::shown, block);
  block.add(member("io", group_of("io.", config)));
  block.add(member("log", group_of("log.", config)));
  block.add(member("client", group_of("client.", config)));
  block.add(member("upstreams", upstreams_of(config)));
  block.add(member("routes", routes_of(config)));
  block.add(member("limits", group_of("limits.", config)));
  return block.printed("{", "}", "") + '\n';
}

}  // namespace hushgate::config
