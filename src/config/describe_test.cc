#include "config/describe.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/schema.h"

namespace hushgate::config {
namespace {

TEST(ConfigurationDoc, TheDocumentInTheTreeIsWhatTheTableSays) {
  const auto path =
      std::filesystem::path(__FILE__).parent_path() / ".." / ".." / "docs" / "configuration.md";
  const std::string wanted = configuration_document();
  if (std::getenv("HUSHGATE_WRITE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << wanted;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "docs/configuration.md is missing: run this test with HUSHGATE_WRITE_DOCS=1";
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(found == wanted) << "docs/configuration.md is not what the table says: run this test "
                                  "with HUSHGATE_WRITE_DOCS=1, and read what changed";
}

TEST(ConfigurationDoc, EveryKeyHasItsRow) {
  const std::string document = configuration_document();
  for (const Key& key : schema()) {
    if (key.kind == Kind::group) continue;
    EXPECT_NE(document.find("\n| `" + std::string(key.path) + '`'), std::string::npos) << key.path;
  }
}

TEST(ConfigurationDoc, NotesAreWholeSentencesAboutKeysThatExist) {
  for (const std::string_view path : noted_paths()) {
    EXPECT_NE(find_key(path), nullptr) << path;
    EXPECT_TRUE(note(path).ends_with('.')) << path;
  }
  EXPECT_EQ(note("limits.nothing"), "");
}

}  // namespace
}  // namespace hushgate::config
