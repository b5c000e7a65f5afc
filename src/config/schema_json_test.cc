#include "config/schema_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

#include "config/json.h"
#include "config/load.h"
#include "config/print.h"
#include "config/schema.h"

namespace hushgate::config {
namespace {

// A reader of JSON Schema as far as ours goes, to hold it against `load` on many files; a word that
// it does not know fails the test. tests/e2e/test_schema.py asks a real one.
class Judge {
 public:
  static bool takes(const Value& schema, const Value& value) {
    return std::ranges::all_of(schema.items, [&](const Value& rule) {
      return rule.key == "additionalProperties" || obeys(schema, rule, value);
    });
  }

 private:
  using Type = Value::Type;

  static bool obeys(const Value& schema, const Value& rule, const Value& value) {
    const std::string& name = rule.key;
    if (name == "type") return is(value, rule.text);
    if (name == "enum") return any(rule, [&](const Value& each) { return same(each, value); });
    if (name == "anyOf") return any(rule, [&](const Value& each) { return takes(each, value); });
    if (name == "pattern") return value.type != Type::string || matches(value.text, rule.text);
    if (name == "minimum") return value.type != Type::number || number(value) >= number(rule);
    if (name == "maximum") return value.type != Type::number || number(value) <= number(rule);
    if (name.starts_with("min")) return size(value, name) >= number(rule);
    if (name.starts_with("max")) return size(value, name) <= number(rule);
    if (name == "items") return value.type != Type::array || each_is(rule, value);
    if (name == "required") {
      return std::ranges::all_of(rule.items,
                                 [&](const Value& key) { return value.find(key.text) != nullptr; });
    }
    if (name == "properties" || name == "patternProperties") return members(schema, value);
    EXPECT_TRUE(name == "description" || name == "default" || name == "title" || name == "$schema")
        << name;
    return true;
  }
  static bool any(const Value& list, auto holds) { return std::ranges::any_of(list.items, holds); }
  static bool each_is(const Value& rule, const Value& list) {
    return std::ranges::all_of(list.items, [&](const Value& item) { return takes(rule, item); });
  }
  // Ours closes every object that it describes.
  static bool members(const Value& schema, const Value& value) {
    EXPECT_NE(schema.find("additionalProperties"), nullptr);
    return std::ranges::all_of(value.items, [&](const Value& member) {
      if (const Value* known = schema.find("properties")) {
        const Value* rule = known->find(member.key);
        return rule != nullptr && takes(*rule, member);
      }
      const Value& pattern = schema.find("patternProperties")->items.front();
      return matches(member.key, pattern.key) && takes(pattern, member);
    });
  }
  static bool is(const Value& value, std::string_view type) {
    if (type == "string") return value.type == Type::string;
    if (type == "boolean") return value.type == Type::boolean;
    if (type == "array") return value.type == Type::array;
    if (type == "object") return value.type == Type::object;
    EXPECT_EQ(type, "integer");
    return value.type == Type::number && !value.text.contains('.');
  }
  static bool same(const Value& a, const Value& b) { return a.type == b.type && a.text == b.text; }
  static bool matches(const std::string& text, const std::string& pattern) {
    static std::map<std::string, std::regex> known;  // making one takes long
    const auto found = known.try_emplace(pattern, pattern).first;
    return std::regex_search(text, found->second);
  }
  static long double number(const Value& value) { return std::stold(value.text); }
  static long double size(const Value& value, std::string_view word) {
    const Type wanted = word.ends_with("Items") ? Type::array : Type::object;
    if (value.type != wanted) return word.starts_with("min") ? 1e18L : 0;
    return static_cast<long double>(value.items.size());
  }
};

bool taken_by_schema(const std::string& text) {
  static const Parsed schema = parse_json(json_schema());
  EXPECT_TRUE(schema.faults.empty());
  const Parsed file = parse_json(text);
  EXPECT_TRUE(file.faults.empty()) << text;
  return Judge::takes(schema.root, file.root);
}

bool taken_by_load(const std::string& text) {
  return load({.file = File{"f.json", text}}).has_value();
}

std::string with(const std::string& member, const std::string& url = "http://h") {
  return R"({"listen": ":1", "upstreams": {"u": {"url": ")" + url + R"("}}, )" + member + '}';
}

// What else must be there for a value of this key, with a comma in front.
std::string company(const Key& key, const std::string& value) {
  if (key.path == "upstream.tls.certificate") return R"(, "key": "/k")";
  if (key.path == "upstream.tls.key") return R"(, "certificate": "/c")";
  if (key.path == "listen[].tls.clientCa") return R"(, "clientCertificates": "required")";
  const bool asks = key.path == "listen[].tls.clientCertificates" && value != "\"off\"";
  return asks ? R"(, "clientCa": "/ca")" : "";
}

// An object in `listen`.
std::string listener_with(const std::string& tls) {
  return R"({"listen": {"address": ":1", "tls": {)" + tls +
         R"(}}, "upstreams": {"u": "http://h"}})";
}

// A file in which the key of the table has this value.
std::string file_with(const Key& key, const std::string& value) {
  const std::string member = '"' + std::string(key.name()) + "\": " + value + company(key, value);
  if (key.path == "listen[].tls.certificates[].certificate") {
    return listener_with(R"("certificates": [{"key": "/k", )" + member + "}]");
  }
  if (key.path == "listen[].tls.certificates[].key") {
    return listener_with(R"("certificates": [{"certificate": "/c", )" + member + "}]");
  }
  if (key.path.starts_with("listen[].tls.")) {
    return listener_with(R"("certificates": [{"certificate": "/c", "key": "/k"}], )" + member);
  }
  if (key.path == "listen[].http2") {
    return R"({"upstreams": {"u": "http://h"}, "listen": {"address": ":1", )" + member + "}}";
  }
  if (key.path == "upstream.protocol" && value == "\"http2\"") {
    return with(R"("upstream": {)" + member + '}', "https://h");
  }
  if (key.path.starts_with("upstream.tls.")) {
    return with(R"("upstream": {"tls": {)" + member + "}}");
  }
  if (key.path.starts_with("routes[].")) {
    return with(R"("routes": [{"path": "/", "upstream": "u", )" + member + "}]");
  }
  const std::size_t dot = key.path.find('.');
  if (dot == std::string_view::npos) return with(member);
  return with('"' + std::string(key.path.substr(0, dot)) + "\": {" + member + '}');
}

TEST(JsonSchema, TakesAndRefusesTheValuesOfEveryKeyAsLoadDoes) {
  for (const Key& key : schema()) {
    if (std::holds_alternative<std::monostate>(key.field)) continue;
    std::vector<std::string> values{"null",   "true",    "false", "-1",       "0",     "1",
                                    "1.5",    "\"\"",    "\"1\"", "\"auto\"", "\"x\"", "[]",
                                    "\"on\"", "[\"1\"]", "{}",    "\"Auto\""};
    for (const std::uint64_t edge : {key.min, key.max}) {
      if (edge > 0) values.push_back(std::to_string(edge - 1));
      values.push_back(std::to_string(edge));
      values.push_back(std::to_string(edge + 1));
    }
    for (const std::string_view choice : key.choices) {
      values.push_back('"' + std::string(choice) + '"');
    }
    for (const std::string& value : values) {
      const std::string file = file_with(key, value);
      EXPECT_EQ(taken_by_schema(file), taken_by_load(file)) << file;
    }
  }
}

TEST(JsonSchema, TakesAndRefusesShapesAsLoadDoes) {
  const char* const files[] = {
      R"({"listen": ":1", "upstreams": {"u": "http://h"}})",
      R"({"listen": [":1", {"address": "[::1]:2"}], "upstreams": {"u": "unix:/s"}})",
      R"({"listen": {"address": "*:1"}, "upstreams": {"u": {"url": "HTTP://h:1/a@b"}}})",
      R"({"listen": [], "upstreams": {"u": "http://h"}})",
      R"({"listen": 1, "upstreams": {"u": "http://h"}})",
      R"({"listen": ["1"], "upstreams": {"u": "http://h"}})",
      R"({"listen": [{"address": ":1", "tls": {}}], "upstreams": {"u": "http://h"}})",
      R"({"listen": [{"address": ":1", "tls": {"certificates": []}}],
          "upstreams": {"u": "http://h"}})",
      R"({"listen": [{"address": ":1", "tls": {"certificates": [{"certificate": "/c"}]}}],
          "upstreams": {"u": "http://h"}})",
      R"({"listen": [{"address": ":1", "tls": {"certificates": [{"certificate": "/c",
          "key": "/k"}, {"certificate": "/c", "key": "/k", "more": "/m"}]}}],
          "upstreams": {"u": "http://h"}})",
      R"({"listen": [{"address": ":1", "tls": {"certificates": {"certificate": "/c",
          "key": "/k"}}}], "upstreams": {"u": "http://h"}})",
      R"({"listen": [{"address": ":1", "tls": {"certificates": [{"certificate": "/c",
          "key": "/k"}]}}], "upstreams": {"u": "http://h"}})",
      R"({"listen": ":1", "upstreams": {"u": {"url": "https://h", "tls": {}}}})",
      R"({"listen": ":1", "upstreams": {"u": {"url": "https://h", "tls": {"ca": "/ca",
          "serverName": "x"}, "spare": 3}}})",
      R"({"listen": ":1", "upstreams": {"u": {"url": "https://h", "tls": {"cas": "/ca"}}}})",
      R"({"listen": ":1", "upstreams": {"u": {"url": "https://h", "tls": []}}})",
      R"({"listen": ":1", "upstream": {"tls": {"minVersion": "1.3"}},
          "upstreams": {"u": "https://h"}})",
      R"({"listen": ":1", "upstream": {"tls": {"tls": {}}}, "upstreams": {"u": "https://h"}})",
      R"({"listen": [{}], "upstreams": {"u": "http://h"}})",
      R"({"listen": ":1", "upstreams": {}})",
      R"({"listen": ":1", "upstreams": []})",
      R"({"listen": ":1", "upstreams": {"u": 1}})",
      R"({"listen": ":1", "upstreams": {"u": {}}})",
      R"({"listen": ":1", "upstreams": {"a b": "http://h"}})",
      R"({"listen": ":1", "upstreams": {"u": "https://h"}})",
      R"({"listen": ":1", "upstreams": {"u": "http://user:pass@h"}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h?q"}})",
      R"({"listen": ":1", "upstreams": {"u": "unix:s"}})",
      R"({"listen": ":1", "upstreams": {"u": {"url": "http://h", "urls": 1}}})",
      R"({"listen": ":1", "upstreams": {"u": {"url": "http://h", "sourceAddresses": ["::1"]}}})",
      R"({"listen": ":1", "upstreams": {"u": {"url": "http://h", "sourceAddresses": "::1"}}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "routes": []})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "routes": {}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "routes": [{"path": "/"}]})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "routes": [{"upstream": "u"}]})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"},
          "routes": [{"path": "v", "upstream": "u"}]})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"},
          "routes": [{"path": "/%", "upstream": "u"}]})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "limits": []})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "limit": {}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "limits": {"idleTimoutMs": 1}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"},
          "client": {"trustedProxies": ["10.0.0.0/8"]}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "client": {"trustedProxies": ["ten"]}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "client": {"trustedProxies": [1]}})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "admin": 1})",
      R"({"listen": ":1", "upstreams": {"u": "http://h"}, "admin": "localhost:9"})",
      R"([])",
  };
  for (const char* const file : files) {
    EXPECT_EQ(taken_by_schema(file), taken_by_load(file)) << file;
  }
}

TEST(JsonSchema, TakesWhatCheckPrints) {
  const auto loaded = load({.file = File{"f.json", with(R"("workers": 2)")}});
  ASSERT_TRUE(loaded.has_value());
  EXPECT_TRUE(taken_by_schema(to_jsonc(loaded->config)));
}

TEST(JsonSchema, TakesTheExamplesOfTheDocumentation) {
  constexpr std::string_view kBegin = "```jsonc\n";
  for (const char* const name : {"README.md", "docs/operating.md"}) {
    const auto path = std::filesystem::path(__FILE__).parent_path() / ".." / ".." / name;
    std::ifstream file(path, std::ios::binary);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    int examples = 0;
    for (std::size_t at = page.find(kBegin); at != std::string::npos;
         at = page.find(kBegin, at + 1)) {
      const std::size_t begin = at + kBegin.size();
      const std::string example = page.substr(begin, page.find("```", begin) - begin);
      EXPECT_TRUE(taken_by_schema(example)) << example;
      EXPECT_TRUE(taken_by_load(example)) << example;
      ++examples;
    }
    EXPECT_GT(examples, 0) << name;
  }
}

}  // namespace
}  // namespace hushgate::config
