#include "config/schema_json.h"

#include "base/rapidjson.h"
#include "config/schema.h"

namespace hushgate::config {
namespace {

// One of draft 2020-12 that uses only words which older drafts know too.
class Writer {
 public:
  Writer() { writer_.SetIndent(' ', 2); }

  template <typename Members>
  void object(std::string_view name, Members members) {
    key(name);
    object(members);
  }
  template <typename Members>
  void object(Members members) {
    writer_.StartObject();
    members();
    writer_.EndObject();
  }
  template <typename Items>
  void array(std::string_view name, Items items) {
    key(name);
    writer_.StartArray();
    items();
    writer_.EndArray();
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    item(value);
  }
  void number(std::string_view name, std::uint64_t value) {
    key(name);
    writer_.Uint64(value);
  }
  void no(std::string_view name) {
    key(name);
    writer_.Bool(false);
  }
  // `json`: a value as the file would have it.
  void value(std::string_view name, const std::string& json) {
    key(name);
    writer_.RawValue(json.data(), json.size(), rapidjson::kStringType);
  }
  void item(std::string_view value) { writer_.String(value.data(), size_of(value)); }

  std::string take() const { return std::string(buffer_.GetString(), buffer_.GetSize()) + '\n'; }

 private:
  static rapidjson::SizeType size_of(std::string_view text) {
    return static_cast<rapidjson::SizeType>(text.size());
  }
  void key(std::string_view name) { writer_.Key(name.data(), size_of(name)); }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

std::string description(const Key& key) {
  std::string text(key.meaning);
  text.front() = text.front() >= 'a' && text.front() <= 'z'
                     ? static_cast<char>(text.front() - 'a' + 'A')
                     : text.front();
  text += '.';
  if (!note(key.path).empty()) text += ' ' + std::string(note(key.path));
  if (key.effect == Effect::restart) text += " A change needs a restart.";
  if (key.overridable()) text += " Environment: " + environment_name(key.path) + '.';
  return text;
}

void string_of(Writer& out, std::string_view pattern) {
  out.text("type", "string");
  if (!pattern.empty()) out.text("pattern", pattern);
}

void strings_of(Writer& out, const Key& key, std::size_t most) {
  out.text("type", "array");
  out.number("maxItems", most);
  out.object("items", [&] { string_of(out, key.pattern); });
}

void range(Writer& out, const Key& key) {
  out.text("type", "integer");
  out.number("minimum", key.kind == Kind::number_or_off && key.min == 1 ? 0 : key.min);
  out.number("maximum", key.max);
}

void word_or(Writer& out, std::string_view word, const Key& key) {
  out.array("anyOf", [&] {
    out.object([&] { range(out, key); });
    out.object([&] { out.array("enum", [&] { out.item(word); }); });
  });
}

void shape(Writer& out, const Key& key) {
  switch (key.kind) {
    case Kind::text:
    case Kind::file:
    case Kind::host: return string_of(out, key.pattern);
    case Kind::texts:
      return strings_of(out, key,
                        key.path == "client.trustedProxies" ? kMaxCidrs : kMaxSourceAddresses);
    case Kind::boolean: return out.text("type", "boolean");
    case Kind::choice:
      return out.array("enum", [&] {
        for (const std::string_view choice : key.choices) out.item(choice);
      });
    case Kind::number:
    case Kind::number_or_off: return range(out, key);
    case Kind::number_or_auto: return word_or(out, "auto", key);
    case Kind::group:
    case Kind::objects:
    case Kind::refused: return;
  }
}

void member(Writer& out, const Key& key) {
  out.object(key.name(), [&] {
    out.text("description", description(key));
    shape(out, key);
    if (const auto value = key.default_value()) out.value("default", shown_value(key, *value));
  });
}

// The keys right below `prefix` that have values, not members of their own.
void members(Writer& out, std::string_view prefix) {
  for (const Key& key : schema()) {
    const bool here = key.path.starts_with(prefix) &&
                      key.path.substr(prefix.size()).find_first_of(".[*") == std::string_view::npos;
    if (here && key.kind != Kind::group && key.kind != Kind::objects && key.kind != Kind::refused &&
        key.path != "listen") {
      member(out, key);
    }
  }
}

void closed_object(Writer& out, auto properties) {
  out.text("type", "object");
  out.object("properties", properties);
  out.no("additionalProperties");
}

void needs(Writer& out, std::initializer_list<std::string_view> names) {
  out.array("required", [&] {
    for (const std::string_view name : names) out.item(name);
  });
}

void certificates(Writer& out) {
  out.object("certificates", [&] {
    out.text("description", description(*find_key("listen[].tls.certificates")));
    out.text("type", "array");
    out.number("minItems", 1);
    out.number("maxItems", kMaxCertificates);
    out.object("items", [&] {
      closed_object(out, [&] { members(out, "listen[].tls.certificates[]."); });
      needs(out, {"certificate", "key"});
    });
  });
}

void tls_of_listener(Writer& out) {
  out.object("tls", [&] {
    out.text("description", description(*find_key("listen[].tls")));
    closed_object(out, [&] {
      certificates(out);
      members(out, "listen[].tls.");
    });
    needs(out, {"certificates"});
  });
}

void listener(Writer& out, const Key& key) {
  out.array("anyOf", [&] {
    out.object([&] { string_of(out, key.pattern); });
    out.object([&] {
      closed_object(out, [&] {
        members(out, "listen[].");
        tls_of_listener(out);
      });
      needs(out, {"address"});
    });
  });
}

void listen(Writer& out) {
  const Key& key = *find_key("listen");
  out.object("listen", [&] {
    out.text("description", description(key));
    out.array("anyOf", [&] {
      out.object([&] { listener(out, key); });
      out.object([&] {
        out.text("type", "array");
        out.number("minItems", 1);
        out.number("maxItems", kMaxListeners);
        out.object("items", [&] { listener(out, key); });
      });
    });
  });
}

void group(Writer& out, std::string_view path) {
  const Key& key = *find_key(path);
  out.object(key.name(), [&] {
    out.text("description", description(key));
    closed_object(out, [&] { members(out, std::string(path) + '.'); });
  });
}

// What an upstream and `upstream` may both hold.
void members_of_upstream(Writer& out) {
  members(out, "upstream.");
  group(out, "upstream.tls");
}

void upstream_defaults(Writer& out) {
  out.object("upstream", [&] {
    out.text("description", description(*find_key("upstream")));
    closed_object(out, [&] { members_of_upstream(out); });
  });
}

void upstreams(Writer& out) {
  const Key& key = *find_key("upstreams");
  const Key& url = *find_key("upstreams.*.url");
  const auto one = [&] {
    out.array("anyOf", [&] {
      out.object([&] { string_of(out, url.pattern); });
      out.object([&] {
        closed_object(out, [&] {
          member(out, url);
          members_of_upstream(out);
        });
        needs(out, {"url"});
      });
    });
  };
  out.object("upstreams", [&] {
    out.text("description", description(key));
    out.text("type", "object");
    out.number("minProperties", 1);
    out.number("maxProperties", kMaxUpstreams);
    out.object("patternProperties", [&] { out.object(key.pattern, one); });
    out.no("additionalProperties");
  });
}

void routes(Writer& out) {
  out.object("routes", [&] {
    out.text("description", description(*find_key("routes")));
    out.text("type", "array");
    out.number("maxItems", kMaxRoutes);
    out.object("items", [&] {
      closed_object(out, [&] { members(out, "routes[]."); });
      needs(out, {"path", "upstream"});
    });
  });
}

}  // namespace

std::string json_schema() {
  Writer out;
  out.object([&] {
    out.text("$schema", "https://json-schema.org/draft/2020-12/schema");
    out.text("title", "hushgate's configuration");
    out.text("description",
             "listen and upstreams are needed, unless the command line or the environment gives "
             "them. `hushgate check -c FILE` says the rest.");
    closed_object(out, [&] {
      listen(out);
      members(out, "");
      for (const std::string_view name : {"io", "log", "client"}) group(out, name);
      upstream_defaults(out);
      upstreams(out);
      routes(out);
      group(out, "limits");
    });
  });
  return out.take();
}

}  // namespace hushgate::config
