#include "route/pattern.h"

#include <gtest/gtest.h>

namespace hushgate::route {
namespace {

struct Covering {
  const char* pattern;
  const char* path;
  bool covered;
};

TEST(Pattern, CoversOnSegmentBordersOnly) {
  for (const Covering& c : {
           Covering{"/", "/", true},
           {"/", "/anything/at/all", true},
           {"/v1", "/v1", true},
           {"/v1", "/v1/", true},
           {"/v1", "/v1/x", true},
           {"/v1", "/v1x", false},
           {"/v1", "/v", false},
           {"/v1", "/V1", false},
           {"/v1/", "/v1", false},
           {"/v1/", "/v1/", true},
           {"/v1/", "/v1/x", true},
           {"/v1/", "/v1x/", false},
           {"/v1/", "/v2/", false},
       }) {
    EXPECT_EQ(covers(c.pattern, c.path), c.covered) << c.pattern << " " << c.path;
  }
}

TEST(Pattern, PlainPathsAreThoseWithOneReading) {
  for (const char* path : {"/", "/a", "/a/b.c", "/a./b", "/a..b/", "/a;b=1/c~d"}) {
    EXPECT_TRUE(is_plain(path)) << path;
  }
  for (const char* path :
       {"/%61", "/a\\b", "//", "/a//b", "/.", "/..", "/a/./b", "/a/../b", "/.well-known", "/a#b"}) {
    EXPECT_FALSE(is_plain(path)) << path;
  }
  EXPECT_FALSE(is_plain(std::string_view("/a\0b", 4)));
}

TEST(Pattern, DecodesOnceAndLeavesBrokenEscapes) {
  EXPECT_EQ(percent_decoded("/a%20b"), "/a b");
  EXPECT_EQ(percent_decoded("/%2f%2F%5c"), "///\\");
  EXPECT_EQ(percent_decoded("/%252e"), "/%2e");
  EXPECT_EQ(percent_decoded("/%"), "/%");
  EXPECT_EQ(percent_decoded("/%4"), "/%4");
  EXPECT_EQ(percent_decoded("/%4g%g4%%41"), "/%4g%g4%A");
  EXPECT_EQ(percent_decoded("%41"), "A");
  EXPECT_EQ(percent_decoded("/%00"), std::string("/\0", 2));
  EXPECT_EQ(percent_decoded(""), "");
}

struct Normalizing {
  const char* path;
  const char* meant;
  Climb climb = Climb::within;
};

TEST(Pattern, NormalizesDotsSlashesAndBackslashes) {
  for (const Normalizing& c : {
           Normalizing{"/", "/"},
           {"", "/"},
           {"/a", "/a"},
           {"/a/", "/a/"},
           {"a/b", "/a/b"},
           {"//a///b//", "/a/b/"},
           {"/a/./b", "/a/b"},
           {"/a/.", "/a/"},
           {"/a/b/..", "/a/"},
           {"/a/b/../", "/a/"},
           {"/a/b/../c", "/a/c"},
           {"/a/..", "/"},
           {"/a//../b", "/b"},
           {"/...", "/..."},
           {"/.a/..b", "/.a/..b"},
           {"/a\\b", "/a/b"},
           {"/a\\..\\b", "/b"},
           {"/a/..;x=1/b", "/b"},
           {"/a/.;/b", "/a/b"},
           {"/a/;x", "/a/;x"},
           {"/..", "/", Climb::above_root},
           {"/a/../../b", "/b", Climb::above_root},
           {"/..;/b", "/b", Climb::above_root},
           {"/./../b", "/b", Climb::above_root},
       }) {
    const Normalized n = normalized(c.path);
    EXPECT_EQ(n.path, c.meant) << c.path;
    EXPECT_EQ(n.climb, c.climb) << c.path;
  }
}

}  // namespace
}  // namespace hushgate::route
