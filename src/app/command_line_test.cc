#include "app/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hushgate::app {
namespace {

using ::testing::HasSubstr;

std::string flags_of(const Command& command) {
  std::string all;
  for (const config::Override& item : command.overrides) {
    all += item.flag + ' ' + item.key + '=' + item.value + '\n';
  }
  return all;
}

TEST(CommandLine, ServeTakesAFile) {
  for (const char* flag : {"-c", "--config"}) {
    const auto command = parse_command_line({"serve", flag, "x.json"});
    ASSERT_TRUE(command) << command.error().text;
    EXPECT_EQ(command->verb, Verb::serve);
    EXPECT_EQ(command->file, "x.json");
    EXPECT_EQ(command->upstream_url, std::nullopt);
    EXPECT_TRUE(command->overrides.empty());
  }
}

TEST(CommandLine, ServeNeedsNoFile) {
  const auto command = parse_command_line(
      {"serve", "--listen", "127.0.0.1:8787", "--upstream", "http://127.0.0.1:3000"});
  ASSERT_TRUE(command) << command.error().text;
  EXPECT_EQ(command->file, std::nullopt);
  EXPECT_EQ(command->upstream_url, "http://127.0.0.1:3000");
  EXPECT_EQ(flags_of(*command), "--listen listen=127.0.0.1:8787\n");
}

TEST(CommandLine, FlagsBecomeOverridesInOneOrder) {
  const auto command =
      parse_command_line({"check", "--set", "limits.graceMs=5", "--listen=:1", "--backend", "epoll",
                          "-c", "x", "--listen", "[::1]:2", "--workers", "2", "--admin", ":3",
                          "--set", "client.trustedProxies=10.0.0.0/8,::1", "--set", "a=b=c"});
  ASSERT_TRUE(command) << command.error().text;
  EXPECT_EQ(command->verb, Verb::check);
  EXPECT_EQ(flags_of(*command),
            "--listen listen=:1,[::1]:2\n"
            "--admin admin=:3\n"
            "--workers workers=2\n"
            "--backend io.backend=epoll\n"
            "--set limits.graceMs=5\n"
            "--set client.trustedProxies=10.0.0.0/8,::1\n"
            "--set a=b=c\n");
}

TEST(CommandLine, DemoNeedsNothing) {
  const auto plain = parse_command_line({"demo"});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->verb, Verb::demo);
  const auto elsewhere = parse_command_line({"demo", "--listen", ":1"});
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(flags_of(*elsewhere), "--listen listen=:1\n");
}

TEST(CommandLine, VersionAndHelpAreCommandsAndFlags) {
  EXPECT_EQ(parse_command_line({"version"})->verb, Verb::version);
  EXPECT_EQ(parse_command_line({"--version"})->verb, Verb::version);
  for (const char* word : {"help", "--help", "-h"}) {
    const auto help = parse_command_line({word});
    ASSERT_TRUE(help) << word;
    EXPECT_EQ(help->verb, Verb::help);
    for (const char* verb : {"serve", "check", "demo", "version"})
      EXPECT_THAT(help->text, HasSubstr(verb));
  }
  for (const auto& words : {std::vector<std::string>{"serve", "--help"}, {"help", "serve"}}) {
    const auto of_serve = parse_command_line(words);
    ASSERT_TRUE(of_serve);
    EXPECT_EQ(of_serve->verb, Verb::help);
    EXPECT_THAT(of_serve->text, HasSubstr("--upstream"));
  }
}

TEST(CommandLine, ServeWatchesItsFileIfAsked) {
  EXPECT_EQ(parse_command_line({"serve", "-c", "x"})->watch, Watch::no);
  EXPECT_EQ(parse_command_line({"serve", "--watch", "-c", "x"})->watch, Watch::yes);
}

TEST(CommandLine, CheckProbesIfAskedAndAsLongAsAsked) {
  EXPECT_EQ(parse_command_line({"check", "-c", "x"})->probe_wait, std::nullopt);
  EXPECT_EQ(parse_command_line({"check", "-c", "x", "--probe"})->probe_wait, Ms{10'000});
  for (const int ms : {1, 3'600'000}) {
    const auto command =
        parse_command_line({"check", "--probe-wait-ms", std::to_string(ms), "--probe", "-c", "x"});
    ASSERT_TRUE(command) << command.error().text;
    EXPECT_EQ(command->probe_wait, Ms{ms});
  }
}

TEST(CommandLine, WrongUsageSaysWhatAndWhereHelpIs) {
  const std::initializer_list<std::pair<std::vector<std::string>, const char*>> cases{
      {{}, "a command is missing"},
      {{"serv"}, "serv"},
      {{"serve"}, "serve wants -c FILE, or --listen ADDRESS --upstream URL"},
      {{"check", "--listen", ":1"}, "check wants -c FILE"},
      {{"serve", "x.json"}, "x.json"},
      {{"serve", "-c"}, "--config"},
      {{"serve", "-c", "a", "-c", "b"}, "--config"},
      {{"serve", "-c", "a", "--workers", "1", "--workers", "2"}, "--workers"},
      {{"serve", "-c", "a", "--nonsense"}, "--nonsense"},
      {{"serve", "-c", "a", "--set", "limits.graceMs"}, "--set wants KEY=VALUE"},
      {{"serve", "-c", "a", "--set", "=5"}, "--set wants KEY=VALUE"},
      {{"demo", "-c", "a"}, "-c"},
      {{"demo", "--upstream", "http://h"}, "--upstream"},
      {{"version", "serve"}, "serve"},
      {{"serve", "--listen", ":1", "--upstream", "http://h", "--watch"}, "--watch wants -c FILE"},
      {{"check", "-c", "a", "--watch"}, "--watch"},
      {{"serve", "-c", "a", "--probe"}, "--probe"},
      {{"check", "-c", "a", "--probe-wait-ms", "5"}, "--probe-wait-ms goes with --probe"},
      {{"check", "-c", "a", "--probe", "--probe-wait-ms", "0"}, "from 1 to 3600000"},
      {{"check", "-c", "a", "--probe", "--probe-wait-ms", "3600001"}, "is \"3600001\""},
      {{"check", "-c", "a", "--probe", "--probe-wait-ms", "5s"}, "is \"5s\""},
  };
  for (const auto& [arguments, words] : cases) {
    const auto command = parse_command_line(arguments);
    ASSERT_FALSE(command) << words;
    EXPECT_THAT(command.error().text, HasSubstr(words));
    EXPECT_TRUE(command.error().text.starts_with("hushgate: ")) << command.error().text;
    EXPECT_THAT(command.error().text, HasSubstr("Try `hushgate "));
    EXPECT_TRUE(command.error().text.ends_with('\n'));
  }
}

}  // namespace
}  // namespace hushgate::app
