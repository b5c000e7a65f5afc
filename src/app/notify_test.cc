#include "app/notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "base/address.h"
#include "io/notify.h"
#include "io/sockets.h"

namespace hushgate::app {
namespace {

constexpr std::int64_t kProcess = 4'711;

// The manager's end: a bound datagram socket that is never waited on.
class Manager {
 public:
  // `name` as in NOTIFY_SOCKET.
  explicit Manager(std::string name) : name_(std::move(name)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    std::size_t size = offsetof(sockaddr_un, sun_path) + name_.size();
    if (name_.front() == '@') {
      address.sun_path[0] = '\0';
    } else {
      std::filesystem::remove(name_);
      ++size;
    }
    fd_ = io::Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(size)),
              0);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() {
    if (name_.front() != '@') std::filesystem::remove(name_);
  }

  const std::string& name() const { return name_; }
  std::string variable() const { return "NOTIFY_SOCKET=" + name_; }

  // "(nothing)" if no datagram is there.
  std::string next() {
    std::array<char, 1'024> text{};
    const auto got = ::recv(fd_.get(), text.data(), text.size(), 0);
    return got < 0 ? "(nothing)" : std::string(text.data(), static_cast<std::size_t>(got));
  }

 private:
  std::string name_;
  io::Descriptor fd_;
};

std::string abstract_name(std::string_view what) {
  return "@hushgate-" + std::string(what) + '-' + std::to_string(::getpid());
}

std::string path_name() {
  return (std::filesystem::temp_directory_path() /
          ("hushgate-notify-" + std::to_string(::getpid())))
      .string();
}

TEST(Notify, ALifeIsToldInOrderToAnAbstractSocket) {
  Manager manager(abstract_name("life"));
  Notifier notifier({"A=b", manager.variable()}, kProcess);
  notifier.ready("listening on 127.0.0.1:8787");
  notifier.reloading(Time(std::chrono::microseconds(123'456'789)));
  notifier.ready("listening again");
  notifier.status("waiting for 2 client connections");
  notifier.stopping(Ms(30'000));
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=listening on 127.0.0.1:8787");
  EXPECT_EQ(manager.next(),
            "RELOADING=1\nMONOTONIC_USEC=123456789\nSTATUS=reading the settings again");
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=listening again");
  EXPECT_EQ(manager.next(), "STATUS=waiting for 2 client connections");
  EXPECT_EQ(manager.next(),
            "STOPPING=1\nEXTEND_TIMEOUT_USEC=40000000\nSTATUS=no new connections; what has begun "
            "may end");
  EXPECT_EQ(manager.next(), "(nothing)");
}

TEST(Notify, TheLongestGraceThereIsCanBeAskedFor) {
  Manager manager(abstract_name("grace"));
  Notifier({manager.variable()}, kProcess).stopping(Ms(2'147'483'647));
  EXPECT_EQ(manager.next().substr(0, 51), "STOPPING=1\nEXTEND_TIMEOUT_USEC=2147493647000\nSTATUS");
}

TEST(Notify, ASocketMayBeAPath) {
  Manager manager(path_name());
  Notifier({manager.variable()}, kProcess).ready("here");
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=here");
}

TEST(Notify, NobodyIsToldWhereNobodyAsked) {
  for (const std::vector<std::string>& environment : {std::vector<std::string>{},
                                                      {"NOTIFY_SOCKET="},
                                                      {"NOTIFY_SOCKETS=@x", "XNOTIFY_SOCKET=@x"}}) {
    Notifier notifier(environment, kProcess);
    notifier.ready("");
    notifier.alive(Time{});
    EXPECT_FALSE(notifier.alive_interval());
  }
  Notifier().stopping(Ms(1));
}

TEST(Notify, AManagerThatIsGoneIsNoFailure) {
  Notifier notifier({"NOTIFY_SOCKET=" + abstract_name("gone")}, kProcess);
  notifier.ready("");
  notifier.stopping(Ms(1));
}

TEST(Notify, TheWatchdogIsFedAtHalfItsPatience) {
  Manager manager(abstract_name("watchdog"));
  Notifier notifier(
      {manager.variable(), "WATCHDOG_USEC=4000000", "WATCHDOG_PID=" + std::to_string(kProcess)},
      kProcess);
  ASSERT_TRUE(notifier.alive_interval());
  EXPECT_EQ(*notifier.alive_interval(), std::chrono::seconds(2));
  const Time start{std::chrono::hours(1)};
  notifier.alive(start);
  EXPECT_EQ(manager.next(), "WATCHDOG=1");
  notifier.alive(start + Ms(1'999));
  EXPECT_EQ(manager.next(), "(nothing)");
  notifier.alive(start + Ms(2'000));
  EXPECT_EQ(manager.next(), "WATCHDOG=1");
}

TEST(Notify, AWatchdogForAnotherProcessOrWithoutATimeWasNotAskedFor) {
  const std::string socket = "NOTIFY_SOCKET=" + abstract_name("none");
  for (const std::vector<std::string>& environment :
       {std::vector<std::string>{"WATCHDOG_USEC=1000"},
        {socket},
        {socket, "WATCHDOG_USEC=1000", "WATCHDOG_PID=4712"},
        {socket, "WATCHDOG_USEC=1000", "WATCHDOG_PID="},
        {socket, "WATCHDOG_USEC=0"},
        {socket, "WATCHDOG_USEC=-1"},
        {socket, "WATCHDOG_USEC=1s"},
        {socket, "WATCHDOG_USEC="},
        {socket, "WATCHDOG_USEC=9223372036854775807"}}) {
    EXPECT_FALSE(Notifier(environment, kProcess).alive_interval()) << environment.back();
  }
  EXPECT_TRUE(Notifier({socket, "WATCHDOG_USEC=1000"}, kProcess).alive_interval())
      << "without WATCHDOG_PID it is for whoever has the variable";
  EXPECT_EQ(Notifier({socket, "WATCHDOG_USEC=1"}, kProcess).alive_interval(), Ms(1));
}

int error_of(std::string_view name) {
  const auto sent = io::send_notification(name, "READY=1");
  return sent ? 0 : sent.error().os_error;
}

TEST(SendNotification, NamesThatAreNoSocketAreRefused) {
  EXPECT_EQ(error_of(""), EAFNOSUPPORT);
  EXPECT_EQ(error_of("@"), EAFNOSUPPORT);
  EXPECT_EQ(error_of("/"), EAFNOSUPPORT);
  EXPECT_EQ(error_of("relative"), EAFNOSUPPORT);
  EXPECT_EQ(error_of("vsock:2:1234"), EAFNOSUPPORT);
  EXPECT_EQ(error_of("/does/not/exist"), ENOENT);
  EXPECT_EQ(error_of(abstract_name("nobody")), ECONNREFUSED);
}

TEST(SendNotification, ANameMayFillTheAddressAndNoMore) {
  Manager manager(abstract_name("long").append(
      SocketAddress::kMaxUnixPathBytes - abstract_name("long").size(), 'x'));
  ASSERT_EQ(manager.name().size(), SocketAddress::kMaxUnixPathBytes);
  EXPECT_EQ(error_of(manager.name()), 0);
  EXPECT_EQ(manager.next(), "READY=1");
  EXPECT_EQ(error_of(manager.name() + 'x'), ENAMETOOLONG);
}

}  // namespace
}  // namespace hushgate::app
