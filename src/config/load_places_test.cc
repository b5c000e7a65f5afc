// Listeners and upstreams that cannot be, and files that are none.
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

std::string to(const char* upstreams) {
  return std::string("{\"listen\": \":1\", \"upstreams\":\n") + upstreams + '}';
}

std::string at(const char* listen) {
  return std::string("{\"upstreams\": {\"u\": \"http://h\"}, \"listen\":\n") + listen + '}';
}

template <typename Text>
void expect_faults(Text text, std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(faults_of(text(c.written)), c.faults) << c.written;
}

TEST(LoadFaults, UpstreamsMustBeUrlsThatCanBeReached) {
  expect_faults(
      to,
      {{R"({})", "2:1: upstreams is empty; it must have 1 to 1024"},
       {R"(["http://h"])",
        "2:1: upstreams is an array; it must be an object of names and URLs: { \"api\": "
        "\"http://127.0.0.1:3000\" }"},
       {R"(5)",
        "2:1: upstreams is 5; it must be an object of names and URLs: { \"api\": "
        "\"http://127.0.0.1:3000\" }"},
       {R"({"u": 5})",
        "2:7: upstreams.u is 5; it must be a URL like \"http://127.0.0.1:3000\" or an object "
        "with url"},
       {R"({"u": ""})",
        "2:7: upstreams.u is \"\"; it must begin with http://, https:// or unix:, as in "
        "http://127.0.0.1:3000"},
       {R"({"u": "https:/h"})",
        "2:7: upstreams.u is \"https:/h\"; it must begin with http://, https:// or unix:, as in "
        "http://127.0.0.1:3000"},
       {R"({"u": "https://"})",
        "2:7: upstreams.u is \"https://\"; after https:// must come a host name or an address"},
       {R"({"u": "https://::1"})",
        "2:7: upstreams.u is \"https://::1\"; an IPv6 address is written in brackets: "
        "https://[::1]:8443"},
       {R"({"u": "127.0.0.1:3000"})",
        "2:7: upstreams.u is \"127.0.0.1:3000\"; it must begin with http://, https:// or unix:, as "
        "in "
        "http://127.0.0.1:3000"},
       {R"({"u": "ftp://h"})",
        "2:7: upstreams.u is \"ftp://h\"; it must begin with http://, https:// or unix:, as in "
        "http://127.0.0.1:3000"},
       {R"({"u": "http:/h"})",
        "2:7: upstreams.u is \"http:/h\"; it must begin with http://, https:// or unix:, as in "
        "http://127.0.0.1:3000"},
       {R"({"u": "http://"})",
        "2:7: upstreams.u is \"http://\"; after http:// must come a host name or an address"},
       {R"({"u": "http://user:secret@h"})",
        "2:7: upstreams.u is \"http://...@h\"; a URL must not hold a user or password"},
       {R"({"u": "http://h:0"})",
        "2:7: upstreams.u is \"http://h:0\"; a port is a number from 1 to 65535"},
       {R"({"u": "http://h:99999"})",
        "2:7: upstreams.u is \"http://h:99999\"; a port is a number from 1 to 65535"},
       {R"({"u": "http://h:"})",
        "2:7: upstreams.u is \"http://h:\"; a port is a number from 1 to 65535"},
       {R"({"u": "http://h:8o"})",
        "2:7: upstreams.u is \"http://h:8o\"; a port is a number from 1 to 65535"},
       {R"({"u": "http://::1:80"})",
        "2:7: upstreams.u is \"http://::1:80\"; an IPv6 address is written in brackets: "
        "http://[::1]:8080"},
       {R"({"u": "http://::1"})",
        "2:7: upstreams.u is \"http://::1\"; an IPv6 address is written in brackets: "
        "http://[::1]:8080"},
       {R"({"u": "http://[127.0.0.1]:80"})",
        "2:7: upstreams.u is \"http://[127.0.0.1]:80\"; an IPv6 address is written in brackets: "
        "http://[::1]:8080"}});
}

TEST(LoadFaults, UpstreamsMustBeWhole) {
  expect_faults(
      to,
      {
          {R"({"u": "http://1.2.3.400"})",
           "2:7: upstreams.u is \"http://1.2.3.400\"; after http:// must come a host name or an "
           "address"},
          {R"({"u": "http://a..b"})",
           "2:7: upstreams.u is \"http://a..b\"; after http:// must come a host name or an "
           "address"},
          {R"({"u": "http://a b"})",
           "2:7: upstreams.u is \"http://a b\"; after http:// must come a host name or an address"},
          {R"({"u": "http://h/?x"})",
           "2:7: upstreams.u is \"http://h/?x\"; a URL here has no query and no fragment"},
          {R"({"u": "http://h/#x"})",
           "2:7: upstreams.u is \"http://h/#x\"; a URL here has no query and no fragment"},
          {R"({"u": "http://h/a/../b"})",
           "2:7: upstreams.u is \"http://h/a/../b\"; about the path of this URL: it must not hold "
           "the segments . and .."},
          {R"({"u": "http://h//b"})",
           "2:7: upstreams.u is \"http://h//b\"; about the path of this URL: it must not hold //"},
          {R"({"u": "unix:run/x"})",
           "2:7: upstreams.u is \"unix:run/x\"; a UNIX socket is written unix:/path/of/the/socket"},
          {R"({"u": "unix:///run/x"})",
           "2:7: upstreams.u is \"unix:///run/x\"; a UNIX socket is written "
           "unix:/path/of/the/socket"},
          {R"({"u": "unix:"})",
           "2:7: upstreams.u is \"unix:\"; a UNIX socket is written unix:/path/of/the/socket"},
          {R"({"u": {"idleTimeoutMs": 5}})",
           "2:7: upstreams.u: url is missing; add \"url\": \"http://host:port\""},
          {R"({"u": {"url": 5}})",
           "2:15: upstreams.u.url is 5; it must be a URL like \"http://127.0.0.1:3000\" or an "
           "object with url"},
          {R"({"u": {"url": "https://h?x"}})",
           "2:15: upstreams.u.url is \"https://h?x\"; a URL here has no query and no fragment"},
          {R"({"u": {"url": "http://h", "ur": 5}})",
           "2:27: unknown key \"upstreams.u.ur\"; the nearest known key is upstreams.u.url"},
          {R"({"u": {"url": "http://h", "requestTimeoutMs": 5}})",
           "2:27: unknown key \"upstreams.u.requestTimeoutMs\"; the nearest known key is "
           "limits.requestTimeoutMs"},
          {R"({"u": {"url": "http://h", "idleTimeoutMs": 0}})",
           "2:44: upstreams.u.idleTimeoutMs is 0; it must be a whole number of milliseconds from 1 "
           "to 2147483647"},
          {R"({"u": {"url": "http://h", "sourceAddresses": "::1"}})",
           "2:46: upstreams.u.sourceAddresses is \"::1\"; it must be an array of strings"},
          {R"({"a b": "http://h"})",
           "2:2: upstreams is \"a b\"; a name has 1 to 64 letters, digits, '-', '_' and '.'"},
          {R"({"": "http://h"})",
           "2:2: upstreams is \"\"; a name has 1 to 64 letters, digits, '-', '_' and '.'"},
          {R"({"a": "http://h", "b": "http://h"})",
           " routes is missing; with more than one upstream it must say which path goes where"},
      });
}

TEST(LoadFaults, ListenersMustBeAddresses) {
  expect_faults(
      at,
      {
          {R"(8787)",
           "2:1: listen is 8787; it must be a string like \"127.0.0.1:8787\", or an object with "
           "address"},
          {R"("8787")",
           "2:1: listen is \"8787\"; it must be an address with a port: 127.0.0.1:8787, "
           "[::1]:8787, or :8787 for every address"},
          {R"("")",
           "2:1: listen is \"\"; it must be an address with a port: 127.0.0.1:8787, [::1]:8787, or "
           ":8787 for every address"},
          {R"("127.0.0.1")",
           "2:1: listen is \"127.0.0.1\"; it must be an address with a port: 127.0.0.1:8787, "
           "[::1]:8787, or :8787 for every address"},
          {R"("127.0.0.1:65536")",
           "2:1: listen is \"127.0.0.1:65536\"; its port must be a number from 0 (the kernel "
           "chooses) to 65535"},
          {R"("127.0.0.1:-1")",
           "2:1: listen is \"127.0.0.1:-1\"; its port must be a number from 0 (the kernel chooses) "
           "to 65535"},
          {R"("127.0.0.1: 80")",
           "2:1: listen is \"127.0.0.1: 80\"; its port must be a number from 0 (the kernel "
           "chooses) to 65535"},
          {R"("example.com:80")",
           "2:1: listen is \"example.com:80\"; it must be an address with a port: 127.0.0.1:8787, "
           "[::1]:8787, or :8787 for every address"},
          {R"("::1:80")",
           "2:1: listen is \"::1:80\"; it must be an address with a port: 127.0.0.1:8787, "
           "[::1]:8787, or :8787 for every address"},
          {R"("unix:/run/x")",
           "2:1: listen is \"unix:/run/x\"; listening on UNIX sockets is not supported by this "
           "version"},
          {R"("http://127.0.0.1:80")",
           "2:1: listen is \"http://127.0.0.1:80\"; it must be an address with a port: "
           "127.0.0.1:8787, [::1]:8787, or :8787 for every address"},
          {R"([])", "2:1: listen is empty; it must have 1 to 64 addresses"},
          {R"(null)",
           "2:1: listen is null; it must be a string like \"127.0.0.1:8787\", or an object with "
           "address"},
          {R"([":1", 5, {"address": 5}, {}])",
           "2:8: listen[1] is 5; it must be a string like \"127.0.0.1:8787\", or an object with "
           "address\n"
           "2:23: listen[2].address is 5; it must be a string\n"
           "2:27: listen[3]: address is missing; add \"address\": \"127.0.0.1:8787\""},
          {R"({"adress": ":2"})",
           "2:1: listen: address is missing; add \"address\": \"127.0.0.1:8787\"\n"
           "2:2: unknown key \"listen.adress\"; the nearest known key is listen.address"},
          {R"({"address": ":1", "proxyProtocol": true})",
           "2:19: listen.proxyProtocol: the PROXY protocol of a load balancer in front is not "
           "supported by this version; leave it out"},
          {R"([":1", "127.0.0.1:1"])",
           "2:8: listen names 127.0.0.1:1 beside :1; both would bind the same port"},
          {R"(["127.0.0.1:2", "127.0.0.1:2"])",
           "2:17: listen names 127.0.0.1:2 beside 127.0.0.1:2; both would bind the same port"},
          {R"(["0.0.0.0:2", "127.0.0.1:2"])",
           "2:15: listen names 127.0.0.1:2 beside 0.0.0.0:2; both would bind the same port"},
      });
}

TEST(LoadFaults, AFileThatIsNoConfigurationSaysSo) {
  const auto as_is = [](const char* text) { return std::string(text); };
  expect_faults(
      as_is, {
                 {"{}",
                  " listen is missing; say where clients connect, as in \"127.0.0.1:8787\"\n"
                  " upstreams is missing; say where requests go, as in { \"api\": "
                  "\"http://127.0.0.1:3000\" }"},
                 {"[]", " the file must hold one object { ... }"},
                 {"null", " the file must hold one object { ... }"},
                 {"\"x\"", " the file must hold one object { ... }"},
                 {"", "1:1: the file holds no JSON; it must hold one object { ... }"},
                 {"{\"limits\": {\"graceMs\": 5,\n}}",
                  "2:1: in limits: a key in double quotes must come here (and no comma may stand "
                  "before a closing })"},
                 {"{\"limits\": {\"graceMs\": 1e}}",
                  "1:26: in limits.graceMs: digits must follow the exponent of a number"},
                 {"{\"listen\": \":1\", \"routes\": [{\"path\": \"/\", \"upstream\": \"u\"}]}",
                  " upstreams is missing; say where requests go, as in { \"api\": "
                  "\"http://127.0.0.1:3000\" }\n"
                  "1:55: routes[0].upstream is \"u\"; there is no such name, upstreams is missing"},
             });
}

}  // namespace
}  // namespace hushgate::config
