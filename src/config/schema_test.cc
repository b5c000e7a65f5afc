#include "config/schema.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "config/nearest.h"

namespace hushgate::config {
namespace {

TEST(Schema, EveryKeyIsThereOnceUnderItsGroupAndExplained) {
  std::set<std::string_view> paths;
  for (const Key& key : schema()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.meaning.empty()) << key.path;
    EXPECT_FALSE(key.meaning.ends_with('.')) << key.path;
    const std::size_t dot = key.path.find_first_of(".[");
    if (dot != std::string_view::npos)
      EXPECT_TRUE(paths.contains(key.path.substr(0, dot))) << key.path;
    EXPECT_EQ(find_key(key.path), &key);
  }
  EXPECT_EQ(find_key("limits.nothing"), nullptr);
  EXPECT_EQ(find_key(""), nullptr);
}

TEST(Schema, DefaultsAreWithinTheirBounds) {
  for (const Key& key : schema()) {
    const auto value = key.default_value();
    if (!value) continue;
    if (key.kind == Kind::choice) EXPECT_LT(*value, key.choices.size()) << key.path;
    if (key.kind == Kind::number) EXPECT_GE(*value, key.min) << key.path;
    if (key.kind == Kind::number) EXPECT_LE(*value, key.max) << key.path;
    if (key.kind == Kind::number_or_off && *value != 0) EXPECT_GE(*value, key.min) << key.path;
  }
}

TEST(Schema, EveryFieldKeepsTheBoundsOfItsKey) {
  for (const Key& key : schema()) {
    const auto* field = std::get_if<Field<Config>>(&key.field);
    if (field == nullptr || key.kind == Kind::choice) continue;
    for (const std::uint64_t value : {key.min, key.max}) {
      Config config;
      field->set(config, value);
      EXPECT_EQ(field->get(config), value) << key.path;
    }
  }
}

struct Default {
  const char* path;
  std::uint64_t value;
};

TEST(Schema, DefaultsAreThoseOfTheContract) {
  for (const Default& c : {Default{"limits.idleTimeoutMs", 60'000},
                           {"limits.requestTimeoutMs", 60'000},
                           {"limits.minUploadBytesPerSecond", 8'192},
                           {"limits.sendTimeoutMs", 60'000},
                           {"limits.minSendBytes", 16'384},
                           {"limits.lingerBytes", 262'144},
                           {"limits.upstreamTimeoutMs", 600'000},
                           {"limits.connectTimeoutMs", 5'000},
                           {"limits.connectTotalMs", 15'000},
                           {"limits.upstreamRetries", 2},
                           {"limits.retryBackoffMs", 250},
                           {"limits.maxRequestLineBytes", 16'384},
                           {"limits.maxHeaderBytes", 65'536},
                           {"limits.maxHeaders", 128},
                           {"limits.maxBodyBytes", 0},
                           {"limits.maxBufferedBytes", 65'536},
                           {"limits.backlog", 4'096},
                           {"limits.graceMs", 30'000},
                           {"limits.tunnelIdleTimeoutMs", 0},
                           {"upstream.idleTimeoutMs", 4'000},
                           {"upstream.maxIdle", 512},
                           {"upstream.closeWaitMs", 1'000}}) {
    ASSERT_NE(find_key(c.path), nullptr) << c.path;
    EXPECT_EQ(find_key(c.path)->default_value(), c.value) << c.path;
  }
}

TEST(Schema, EnvironmentNamesDropTheGroupOfLimitsOnlyAndAreUnique) {
  EXPECT_EQ(environment_name("limits.idleTimeoutMs"), "HUSHGATE_IDLE_TIMEOUT_MS");
  EXPECT_EQ(environment_name("limits.minUploadBytesPerSecond"),
            "HUSHGATE_MIN_UPLOAD_BYTES_PER_SECOND");
  EXPECT_EQ(environment_name("upstream.idleTimeoutMs"), "HUSHGATE_UPSTREAM_IDLE_TIMEOUT_MS");
  EXPECT_EQ(environment_name("client.halfClose"), "HUSHGATE_CLIENT_HALF_CLOSE");
  EXPECT_EQ(environment_name("io.backend"), "HUSHGATE_IO_BACKEND");
  EXPECT_EQ(environment_name("listen"), "HUSHGATE_LISTEN");
  std::set<std::string> names;
  for (const Key& key : schema()) {
    if (!key.overridable()) continue;
    EXPECT_TRUE(names.insert(environment_name(key.path)).second) << key.path;
    EXPECT_EQ(find_key_of_environment(environment_name(key.path)), &key);
  }
  EXPECT_EQ(find_key_of_environment("HUSHGATE_LIMITS"), nullptr);
  EXPECT_EQ(find_key_of_environment("HUSHGATE_ROUTES"), nullptr);
}

TEST(Nearest, CountsEditsAndSwapsWithoutCase) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("idleTimoutMs", "idleTimeoutMs"), 1U);
  EXPECT_EQ(edit_distance("listne", "listen"), 1U);
  EXPECT_EQ(edit_distance("IDLE", "idle"), 0U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance(std::string(500, 'a'), std::string(500, 'b')), 80U);
}

TEST(Nearest, IsTheFirstOfTheLeastDistance) {
  const std::string_view known[] = {"api", "model", "modal"};
  EXPECT_EQ(nearest("modl", known), "model");
  EXPECT_EQ(nearest("modal", known), "modal");
  EXPECT_EQ(nearest("", known), "api");
  EXPECT_EQ(nearest("x", {}), "");
  const std::string_view of_tls[] = {"key", "certificate", "ca"};
  EXPECT_EQ(nearest("Cert", of_tls), "certificate");
  EXPECT_EQ(nearest("ce", of_tls), "ca");
  EXPECT_EQ(nearest("keys", of_tls), "key");
}

}  // namespace
}  // namespace hushgate::config
