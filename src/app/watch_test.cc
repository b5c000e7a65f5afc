#include "app/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace hushgate::app {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr Time kBegin{};

Fingerprint version(std::uint64_t inode) { return {.inode = inode}; }

// A directory that is gone with the test.
struct WatchFile : ::testing::Test {
  WatchFile() {
    std::string name = ::testing::TempDir() + "hushgate_watch_XXXXXX";
    directory = fs::canonical(::mkdtemp(name.data())).string();
  }
  ~WatchFile() override { fs::remove_all(directory); }

  std::string in(const std::string& name) const { return directory + '/' + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(in(name)) << text;
    return in(name);
  }

  std::string directory;
};

// Whether a change is told when it has settled; what has settled before is over.
bool tells(FileWatch& watch, Time& now) {
  const bool at_once = watch.look(now);
  now += kWatchSettle;
  return watch.look(now) || at_once;
}

TEST(Settling, AFileThatStaysIsNoNews) {
  Settling settling(version(1));
  EXPECT_EQ(settling.due(), kNever);
  EXPECT_FALSE(settling.observe(version(1), kBegin + Ms{5'000}));
  EXPECT_EQ(settling.due(), kNever);
}

TEST(Settling, AChangeIsToldOnceItHasBeenStillForAWhile) {
  Settling settling(version(1));
  EXPECT_FALSE(settling.observe(version(2), kBegin));
  EXPECT_EQ(settling.due(), kBegin + kWatchSettle);
  EXPECT_FALSE(settling.observe(version(2), kBegin + kWatchSettle - Ms{1}));
  EXPECT_TRUE(settling.observe(version(2), kBegin + kWatchSettle));
  EXPECT_EQ(settling.due(), kNever);
  EXPECT_FALSE(settling.observe(version(2), kBegin + Ms{9'000}));
}

TEST(Settling, ManyChangesAreOneUnlessTheyNeverEnd) {
  Settling settling(version(1));
  int told = 0;
  std::uint64_t inode = 2;
  for (Ms at{0}; at < kWatchSettleMost; at += kWatchSettle - Ms{1}) {
    told += settling.observe(version(inode++), kBegin + at) ? 1 : 0;
  }
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(settling.observe(version(inode), kBegin + kWatchSettleMost));
}

TEST(Settling, AFileThatIsGoneForAMomentIsNoNewsIfItComesBackAsItWas) {
  Settling settling(version(1));
  EXPECT_FALSE(settling.observe({.os_error = ENOENT}, kBegin));
  EXPECT_FALSE(settling.observe(version(1), kBegin + Ms{10}));
  EXPECT_FALSE(settling.observe(version(1), kBegin + Ms{10} + kWatchSettle));
  EXPECT_EQ(settling.due(), kNever);
  EXPECT_FALSE(settling.observe({.os_error = ENOENT}, kBegin + Ms{1'000}));
  EXPECT_TRUE(settling.observe({.os_error = ENOENT}, kBegin + Ms{1'000} + kWatchSettle));
}

TEST_F(WatchFile, EveryWayToChangeAFileIsSeen) {
  const std::string path = write("a.json", "1");
  FileWatch watch(path);
  Time now = kBegin;
  EXPECT_FALSE(tells(watch, now));
  write("a.json", "in place");
  EXPECT_TRUE(tells(watch, now));
  fs::rename(write("a.json.swp", "replaced"), path);
  EXPECT_TRUE(tells(watch, now));
  fs::permissions(path, fs::perms::owner_read);
  EXPECT_TRUE(tells(watch, now));
  fs::remove(path);
  EXPECT_TRUE(tells(watch, now));
  write("a.json", "here again");
  EXPECT_TRUE(tells(watch, now));
  EXPECT_FALSE(tells(watch, now));
}

TEST_F(WatchFile, LinksThatAreSwappedAsKubernetesDoesAreFollowed) {
  fs::create_directory(in("..1"));
  fs::create_directory(in("..2"));
  write("..1/a.json", "1");
  write("..2/a.json", "22");
  fs::create_symlink("..1", in("..data"));
  fs::create_symlink("..data/a.json", in("a.json"));
  FileWatch watch(in("a.json"));
  Time now = kBegin;
  EXPECT_FALSE(tells(watch, now));
  fs::create_symlink("..2", in("..data_tmp"));
  fs::rename(in("..data_tmp"), in("..data"));
  EXPECT_TRUE(tells(watch, now));
  EXPECT_FALSE(tells(watch, now));
}

TEST_F(WatchFile, TheDirectoriesAreThoseThatHoldTheFileAndTheLinksToIt) {
  write("a.json", "1");
  EXPECT_THAT(directories_of(in("a.json")), ElementsAre(directory));
  EXPECT_THAT(directories_of(in("absent.json")), ElementsAre(directory));
  EXPECT_THAT(directories_of(in("./x/../a.json")), ElementsAre(directory));
  fs::create_directories(in("v1/conf"));
  fs::create_symlink("v1", in("current"));
  fs::create_symlink(in("a.json"), in("v1/conf/a.json"));
  EXPECT_THAT(directories_of(in("current/conf/a.json")), ElementsAre(directory, in("v1/conf")));
  fs::create_symlink("../a.json", in("v1/up.json"));
  EXPECT_THAT(directories_of(in("v1/up.json")), ElementsAre(in("v1"), directory));
}

TEST_F(WatchFile, LinksInACircleEnd) {
  fs::create_symlink("b", in("a"));
  fs::create_symlink("a", in("b"));
  EXPECT_THAT(directories_of(in("a")), ElementsAre(directory));
  EXPECT_EQ(Fingerprint::of(in("a")).os_error, ELOOP);
}

TEST_F(WatchFile, TheDirectoryTellsBySignalAlsoAfterTheLinkLedElsewhere) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGIO);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  const auto told = [&] {
    const timespec most{.tv_sec = 10, .tv_nsec = 0};
    return ::sigtimedwait(&set, nullptr, &most) == SIGIO;
  };
  fs::create_directory(in("x"));
  fs::create_directory(in("y"));
  write("x/a.json", "1");
  write("y/a.json", "22");
  fs::create_symlink("x/a.json", in("a.json"));
  FileWatch watch(in("a.json"));
  ASSERT_EQ(watch.tell_by(SIGIO), 0);
  fs::create_symlink("y/a.json", in("new"));
  fs::rename(in("new"), in("a.json"));
  EXPECT_TRUE(told());
  Time now = kBegin;
  EXPECT_TRUE(tells(watch, now));
  const timespec none{};
  while (::sigtimedwait(&set, nullptr, &none) == SIGIO) {
  }
  write("y/a.json", "333");
  EXPECT_TRUE(told());
  EXPECT_TRUE(tells(watch, now));
}

}  // namespace
}  // namespace hushgate::app
