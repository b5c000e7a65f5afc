// Every way to write a setting wrongly, and the words that it must be met with.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "config/load.h"

namespace hushgate::config {
namespace {

struct Case {
  const char* written;
  const char* faults;  // one a line, less the file's name
};

std::string faults_of(const std::string& text) {
  const auto loaded = load({.file = File{"f.json", text}});
  if (loaded) return "none";
  std::string all;
  for (const Fault& fault : loaded.error()) {
    if (!all.empty()) all += '\n';
    all += fault.to_string().substr(std::string_view("f.json:").size());
  }
  return all;
}

std::string with(const char* more) {
  return std::string("{\"listen\": \":1\", \"upstreams\": {\"u\": \"http://h\"},\n") + more + '}';
}

template <typename Text>
void expect_faults(Text text, std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(faults_of(text(c.written)), c.faults) << c.written;
}

TEST(LoadFaults, ValuesOutOfTheirBoundsNameTheKeyAndWhatIsRight) {
  expect_faults(
      with,
      {{R"("limits": {"idleTimeoutMs": 0})",
        "2:29: limits.idleTimeoutMs is 0; it must be a whole number of milliseconds from 1 to "
        "2147483647"},
       {R"("limits": {"idleTimeoutMs": -5})",
        "2:29: limits.idleTimeoutMs is -5; it must be a whole number of milliseconds from 1 to "
        "2147483647"},
       {R"("limits": {"idleTimeoutMs": 1.5})",
        "2:29: limits.idleTimeoutMs is 1.5; it must be a whole number of milliseconds from 1 to "
        "2147483647"},
       {R"("limits": {"idleTimeoutMs": 1e3})",
        "2:29: limits.idleTimeoutMs is 1e3; it must be a whole number of milliseconds from 1 to "
        "2147483647"},
       {R"("limits": {"idleTimeoutMs": 1e400})",
        "2:29: in limits.idleTimeoutMs: this number is too big"},
       {R"("limits": {"idleTimeoutMs": "abc"})",
        "2:29: limits.idleTimeoutMs is \"abc\"; it must be a whole number of milliseconds from "
        "1 to 2147483647"},
       {R"("limits": {"idleTimeoutMs": "5000"})",
        "2:29: limits.idleTimeoutMs is \"5000\"; it must be a whole number of milliseconds from "
        "1 to 2147483647, without quotes"},
       {R"("limits": {"idleTimeoutMs": ""})",
        "2:29: limits.idleTimeoutMs is \"\"; it must be a whole number of milliseconds from 1 "
        "to 2147483647"},
       {R"("limits": {"idleTimeoutMs": null})",
        "2:29: limits.idleTimeoutMs is null; it must be a whole number of milliseconds from 1 "
        "to 2147483647"},
       {R"("limits": {"idleTimeoutMs": 1000000000000000000000000000000})",
        "2:29: limits.idleTimeoutMs is 1000000000000000000000000000000; it must be a whole "
        "number of milliseconds from 1 to 2147483647"},
       {R"("limits": {"idleTimeoutMs": NaN})",
        "2:29: limits.idleTimeoutMs is NaN; it must be a whole number of milliseconds from 1 to "
        "2147483647"},
       {R"("limits": {"idleTimeoutMs": -Infinity})",
        "2:29: limits.idleTimeoutMs is -Infinity; it must be a whole number of milliseconds "
        "from 1 to 2147483647"},
       {R"("limits": {"idleTimeoutMs": 2147483648})",
        "2:29: limits.idleTimeoutMs is 2147483648; it must be a whole number of milliseconds "
        "from 1 to 2147483647"},
       {R"("limits": {"idleTimeoutMs": true})",
        "2:29: limits.idleTimeoutMs is true; it must be a whole number of milliseconds from 1 "
        "to 2147483647"},
       {R"("limits": {"idleTimeoutMs": [1]})",
        "2:29: limits.idleTimeoutMs is an array; it must be a whole number of milliseconds from "
        "1 to 2147483647"},
       {R"("limits": {"graceMs": {}})",
        "2:23: limits.graceMs is an object; it must be a whole number of milliseconds from 1 to "
        "2147483647"}});
}

TEST(LoadFaults, EveryKindOfValueHasItsOwnWords) {
  expect_faults(
      with,
      {
          {R"("limits": {"upstreamRetries": 101, "maxHeaders": 0})",
           "2:31: limits.upstreamRetries is 101; it must be a whole number of retries from 0 to "
           "100\n"
           "2:50: limits.maxHeaders is 0; it must be a whole number of fields from 1 to 65535"},
          {R"("limits": {"maxBufferedBytes": 1023, "maxConnections": 0})",
           "2:32: limits.maxBufferedBytes is 1023; it must be a whole number of bytes from 1024 to "
           "1073741824\n"
           "2:56: limits.maxConnections is 0; it must be a whole number of connections from 1 to "
           "2147483647, or \"auto\""},
          {R"("limits": {"minUploadBytesPerSecond": -1, "tunnelIdleTimeoutMs": "off"})",
           "2:39: limits.minUploadBytesPerSecond is -1; it must be a whole number of bytes per "
           "second from 1 to 9007199254740992, or 0 for off\n"
           "2:66: limits.tunnelIdleTimeoutMs is \"off\"; it must be a whole number of milliseconds "
           "from 1 to 2147483647, or 0 for off"},
          {R"("limits": 5)", "2:11: limits is 5; it must be an object { ... }"},
          {R"("limits": null)", "2:11: limits is null; it must be an object { ... }"},
          {R"("workers": 0)",
           "2:12: workers is 0; it must be a whole number of threads from 1 to 1024, or \"auto\""},
          {R"("workers": "many")",
           "2:12: workers is \"many\"; it must be a whole number of threads from 1 to 1024, or "
           "\"auto\""},
          {R"("workers": 1025)",
           "2:12: workers is 1025; it must be a whole number of threads from 1 to 1024, or "
           "\"auto\""},
          {R"("io": {"backend": "kqueue"})",
           "2:19: io.backend is \"kqueue\"; it must be one of \"auto\", \"epoll\", \"uring\""},
          {R"("io": "uring")", "2:7: io is \"uring\"; it must be an object { ... }"},
          {R"("client": {"halfClose": "Auto"})",
           "2:25: client.halfClose is \"Auto\"; it must be one of \"auto\", \"cancel\", \"serve\""},
          {R"("upstream": {"protocol": "http3", "host": "me"})",
           "2:26: upstream.protocol is \"http3\"; it must be one of \"auto\", \"http1\", "
           "\"http2\", "
           "\"h2c\"\n"
           "2:43: upstream.host is \"me\"; it must be one of \"upstream\", \"client\""},
          {R"("upstream": {"maxIdle": -1, "closeWaitMs": 0})",
           "2:25: upstream.maxIdle is -1; it must be a whole number of connections from 0 to "
           "2147483647\n"
           "2:44: upstream.closeWaitMs is 0; it must be a whole number of milliseconds from 1 to "
           "2147483647"},
      });
}

TEST(LoadFaults, KeysThatAreUnknownOrTwiceThereAreNamed) {
  expect_faults(
      with,
      {
          {R"("limits": {"idleTimoutMs": 5})",
           "2:12: unknown key \"limits.idleTimoutMs\"; the nearest known key is "
           "limits.idleTimeoutMs"},
          {R"("limits": {"IdleTimeoutMs": 5})",
           "2:12: unknown key \"limits.IdleTimeoutMs\"; the nearest known key is "
           "limits.idleTimeoutMs"},
          {R"("idleTimeoutMs": 5)",
           "2:1: unknown key \"idleTimeoutMs\"; the nearest known key is limits.idleTimeoutMs"},
          {R"("limits.idleTimeoutMs": 5)",
           "2:1: unknown key \"limits.idleTimeoutMs\"; the nearest known key is "
           "limits.idleTimeoutMs"},
          {R"("listne": 5)", "2:1: unknown key \"listne\"; the nearest known key is listen"},
          {R"("": 5)", "2:1: unknown key \"\"; the nearest known key is io"},
          {R"("a\u0001\"b": 5)",
           "2:1: unknown key \"a\\x01\\\"b\"; the nearest known key is admin"},
          {R"("upstream": {"url": "http://h"})",
           "2:14: unknown key \"upstream.url\"; the nearest known key is upstream.tls"},
          {R"("upstream": {"limits.graceMs": 1})",
           "2:14: unknown key \"upstream.limits.graceMs\"; the nearest known key is "
           "limits.graceMs"},
          {R"("limit": {})", "2:1: unknown key \"limit\"; the nearest known key is limits"},
          {R"("route": [])", "2:1: unknown key \"route\"; the nearest known key is routes"},
          {R"("io": {"halfClose": "auto"})",
           "2:8: unknown key \"io.halfClose\"; the nearest known key is client.halfClose"},
          {R"("limits": {"graceMs": 5, "graceMs": 6})",
           "2:26: duplicate key limits.graceMs; it may be set once only"},
          {R"("listen": ":2")", "2:1: duplicate key listen; it may be set once only"},
          {R"("workers": 1, "workers": 2, "io": {"backend": "x"})",
           "2:15: duplicate key workers; it may be set once only\n"
           "2:47: io.backend is \"x\"; it must be one of \"auto\", \"epoll\", \"uring\""},
      });
}

TEST(LoadFaults, ItemsOfListsAreNamedByTheirIndex) {
  expect_faults(
      with, {
                {R"("client": {"trustedProxies": ["10.0.0.1/8", "x", 5, "::1"]})",
                 "2:31: client.trustedProxies[0] is \"10.0.0.1/8\"; it has bits behind its prefix; "
                 "write 10.0.0.0/8\n"
                 "2:45: client.trustedProxies[1] is \"x\"; it must be an address or a block of "
                 "addresses: 10.0.0.0/8, fd00::/8\n"
                 "2:50: client.trustedProxies[2] is 5; it must be a string"},
                {R"("client": {"trustedProxies": "10.0.0.0/8"})",
                 "2:30: client.trustedProxies is \"10.0.0.0/8\"; it must be an array of strings"},
                {R"("upstream": {"sourceAddresses": ["0.0.0.0", "x", "10.0.0.0/8"]})",
                 "2:34: upstream.sourceAddresses[0] is \"0.0.0.0\"; it must be one address of this "
                 "machine, not all of them\n"
                 "2:45: upstream.sourceAddresses[1] is \"x\"; it must be an address of this "
                 "machine: 10.0.0.5 or fd00::5\n"
                 "2:50: upstream.sourceAddresses[2] is \"10.0.0.0/8\"; it must be an address of "
                 "this machine: 10.0.0.5 or fd00::5"},
                {R"("admin": "x")",
                 "2:10: admin is \"x\"; it must be an address with a port: 127.0.0.1:8787, "
                 "[::1]:8787, or :8787 for every address"},
                {R"("admin": {})",
                 "2:10: admin is an object; it must be a string like \"127.0.0.1:8788\""},
                {R"("admin": ":1")",
                 "2:10: admin is \":1\" where listen has \":1\"; it needs a port of its own"},
            });
}

TEST(LoadFaults, RoutesMustBeComplete) {
  expect_faults(
      with, {
                {R"("routes": [{"path": "/", "upstream": "v"}])",
                 "2:38: routes[0].upstream is \"v\"; there is no upstream of that name; the "
                 "nearest is \"u\""},
                {R"("routes": [{"path": "/a", "upstream": "u"}, {"path": "/a", "upstream": "u"}])",
                 "2:45: routes[1].path is \"/a\"; routes[0] has it already"},
                {R"("routes": [{"path": "/"}, {"upstream": "u"}, 5])",
                 "2:12: routes[0]: upstream is missing; a route is { \"path\": \"/\", "
                 "\"upstream\": \"name\" }\n"
                 "2:27: routes[1]: path is missing; a route is { \"path\": \"/\", \"upstream\": "
                 "\"name\" }\n"
                 "2:46: routes[2] is 5; it must be an object { ... }"},
                {R"("routes": [{"path": 5, "upstream": null}])",
                 "2:21: routes[0].path is 5; it must be a path like \"/v1/\"\n"
                 "2:36: routes[0].upstream is null; it must be a name of upstreams"},
                {R"("routes": {"/": "u"})",
                 "2:11: routes is an object; it must be an array of objects: [ { \"path\": \"/\", "
                 "\"upstream\": \"name\" } ]"},
                {R"("routes": [{"path": "v1", "upstream": "u"}])",
                 "2:21: routes[0].path is \"v1\"; it must begin with /"},
                {R"("routes": [{"path": "", "upstream": "u"}])",
                 "2:21: routes[0].path is \"\"; it must begin with /"},
                {R"("routes": [{"path": "/a//b", "upstream": "u"}])",
                 "2:21: routes[0].path is \"/a//b\"; it must not hold //"},
                {R"("routes": [{"path": "/a/..", "upstream": "u"}])",
                 "2:21: routes[0].path is \"/a/..\"; it must not hold the segments . and .."},
                {R"("routes": [{"path": "/./b", "upstream": "u"}])",
                 "2:21: routes[0].path is \"/./b\"; it must not hold the segments . and .."},
                {R"("routes": [{"path": "/%41", "upstream": "u"}])",
                 "2:21: routes[0].path is \"/%41\"; it must be written without % escapes"},
                {R"("routes": [{"path": "/a?b", "upstream": "u"}])",
                 "2:21: routes[0].path is \"/a?b\"; it must not hold ?, # or \\"},
                {R"("routes": [{"path": "/a b", "upstream": "u"}])",
                 "2:21: routes[0].path is \"/a b\"; it must be visible ASCII without spaces"},
                {R"("routes": [{"path": "/\u00e4", "upstream": "u"}])",
                 "2:21: routes[0].path is \"/ä\"; it must be visible ASCII without spaces"},
                {R"("routes": [{"path": "/x", "upstream": "u", "connect": true}])",
                 "2:12: routes[0].connect is true; CONNECT has no path, so only the route \"/\" "
                 "can allow it"},
                {R"("routes": [{"path": "/", "upstream": "u", "connect": 1}])",
                 "2:54: routes[0].connect is 1; it must be true or false"},
                {R"("routes": [{"path": "/", "upstream": "u", "upstreamTimeoutMs": 0}])",
                 "2:64: routes[0].upstreamTimeoutMs is 0; it must be a whole number of "
                 "milliseconds from 1 to 2147483647"},
                {R"("routes": [{"path": "/", "upstream": "u", "maxBodyBytes": "1M"}])",
                 "2:59: routes[0].maxBodyBytes is \"1M\"; it must be a whole number of bytes from "
                 "1 to 9007199254740992, or 0 for off"},
                {R"("routes": [{"path": "/", "upstream": "u", "maxBodyByte": 5}])",
                 "2:43: unknown key \"routes[0].maxBodyByte\"; the nearest known key is "
                 "routes[0].maxBodyBytes"},
            });
}

}  // namespace
}  // namespace hushgate::config
