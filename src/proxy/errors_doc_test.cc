#include "proxy/errors_doc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "config/schema.h"
#include "proxy/errors.h"
#include "proxy/log_events.h"

namespace hushgate::proxy {
namespace {

using Names = std::set<std::string>;

std::filesystem::path root() { return std::filesystem::path(__FILE__).parent_path() / ".." / ".."; }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " is missing";
  return {std::istreambuf_iterator<char>(file), {}};
}

// Behind each `opening`, which ends in "(": what the parentheses hold.
std::vector<std::string> calls(const std::string& text, std::string_view opening) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(opening); at != std::string::npos;
       at = text.find(opening, at + 1)) {
    const std::size_t begin = at + opening.size();
    std::size_t end = begin;
    for (int depth = 1; end < text.size() && depth > 0; ++end) {
      if (text[end] == '(') ++depth;
      if (text[end] == ')') --depth;
    }
    found.push_back(text.substr(begin, end - begin - 1));
  }
  return found;
}

Names matches(const std::string& text, const std::regex& pattern) {
  Names found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    found.insert((*at)[1].str());
  }
  return found;
}

struct Logged {
  std::map<std::string, Names> levels_of_event;
  Names fields;
};

// What the sources of all floors say that they log.
const Logged& logged() {
  static const Logged all = [] {
    const std::regex name("\"([a-z0-9_]+)\"");
    const std::regex level("LogLevel::([a-z]+)");
    const std::regex field("\\.(?:text|number|ms)\\(\"([a-z0-9_]+)\"");
    Logged found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / "src")) {
      const std::string file = entry.path().filename().string();
      if (!file.ends_with(".cc") || file.ends_with("_test.cc")) continue;
      const std::string text = text_of(entry.path());
      if (!text.contains("LogLine") && !text.contains("LogLevel::")) continue;
      for (const std::string& arguments : calls(text, ".line(")) {
        const Names levels = matches(arguments, level);
        for (const std::string& event : matches(arguments, name)) {
          found.levels_of_event[event].insert(levels.begin(), levels.end());
        }
      }
      for (const std::string& arguments : calls(text, "log_event(")) {
        std::smatch event;
        if (!std::regex_search(arguments, event, name)) continue;  // its definition
        found.levels_of_event[event[1].str()].insert("info");
      }
      found.fields.merge(matches(text, field));
    }
    return found;
  }();
  return all;
}

Names words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(ErrorsDoc, TheDocumentInTheTreeIsWhatTheTablesSay) {
  const std::filesystem::path path = root() / "docs" / "errors.md";
  const std::string wanted = errors_document();
  if (std::getenv("HUSHGATE_WRITE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << wanted;
  }
  EXPECT_TRUE(text_of(path) == wanted)
      << "docs/errors.md is not what the tables say: run this test "
         "with HUSHGATE_WRITE_DOCS=1, and read what changed";
}

TEST(ErrorsDoc, EveryEventOfTheSourcesIsInTheTableAtItsLevelAndNoOther) {
  Names told;
  for (const LogEvent& event : log_events()) {
    EXPECT_TRUE(told.insert(std::string(event.name)).second) << event.name << " is there twice";
    const auto found = logged().levels_of_event.find(std::string(event.name));
    ASSERT_NE(found, logged().levels_of_event.end()) << event.name << " is logged nowhere";
    const char* const level = event.level == LogLevel::info      ? "info"
                              : event.level == LogLevel::warning ? "warning"
                                                                 : "error";
    EXPECT_TRUE(found->second.contains(level)) << event.name << " is not logged as " << level;
  }
  for (const auto& [event, levels] : logged().levels_of_event) {
    EXPECT_TRUE(told.contains(event)) << event << " is logged, but not in log_events.cc";
  }
  EXPECT_GT(told.size(), 15U);
}

TEST(ErrorsDoc, EveryFieldOfTheSourcesIsExplainedAndBelongsToAnEvent) {
  Names of_events;
  Names explained;
  for (const LogEvent& event : log_events()) of_events.merge(words(event.fields));
  for (const LogField& field : log_fields()) {
    EXPECT_TRUE(explained.insert(std::string(field.name)).second) << field.name;
  }
  EXPECT_EQ(of_events, explained);
  EXPECT_EQ(logged().fields, explained);
}

TEST(ErrorsDoc, EverySettingThatIsNamedExists) {
  const std::string document = errors_document();
  for (const std::string& path :
       matches(document, std::regex("`((?:limits|upstream|client|io)\\.[A-Za-z]+)`"))) {
    EXPECT_NE(config::find_key(path), nullptr) << path;
  }
  // The messages that clients read name settings too.
  for (std::size_t i = 0; i <= static_cast<std::size_t>(ErrorKind::response_timeout); ++i) {
    const std::string message(facts(static_cast<ErrorKind>(i)).message);
    for (const std::string& path :
         matches(message, std::regex("((?:limits|upstream)\\.[A-Za-z]+)"))) {
      EXPECT_NE(config::find_key(path), nullptr) << path;
    }
  }
}

TEST(ErrorsDoc, EveryErrorAndCounterIsExplained) {
  for (std::size_t i = 1; i <= static_cast<std::size_t>(ErrorKind::response_timeout); ++i) {
    const ErrorHelp& found = help(static_cast<ErrorKind>(i));
    EXPECT_TRUE(found.happened.ends_with('.')) << i;
    EXPECT_TRUE(found.act.ends_with('.')) << i;
  }
  for (std::size_t i = 0; i < stats::kCounters; ++i) {
    EXPECT_FALSE(help(static_cast<stats::Counter>(i)).meaning.empty()) << i;
  }
}

}  // namespace
}  // namespace hushgate::proxy
