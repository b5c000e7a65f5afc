#include "io/sockets.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/limits.h"

namespace hushgate::io {
namespace {

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &length), 0);
  return value;
}

void expect_keep_alive(int fd) {
  EXPECT_EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), kTcpKeepAliveIdle.count() / 1000);
  EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), kTcpKeepAliveInterval.count() / 1000);
  EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPCNT), kTcpKeepAliveProbes);
}

TEST(Sockets, AcceptedConnectionsInheritEveryOptionAndConnectedOnesGetThemOnDemand) {
  const auto listener = open_listener(IpPort{IpAddress::v4(127, 0, 0, 1)}, {.backlog = 8});
  ASSERT_TRUE(listener.has_value());
  const SocketAddress address = local_address(listener->get());
  const auto client = open_connection(address, {.source = IpAddress::v4(127, 0, 0, 2)});
  ASSERT_TRUE(client.has_value());
  ASSERT_TRUE(start_connect(client->get(), address).has_value());
  const Descriptor accepted(
      ::accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  ASSERT_TRUE(accepted.valid());
  for (const int fd : {client->get(), accepted.get()}) {
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
  }
  expect_keep_alive(accepted.get());
  EXPECT_EQ(option(accepted.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT), kNotSentLowatBytes);
  EXPECT_EQ(option(client->get(), SOL_SOCKET, SO_KEEPALIVE), 0);
  apply_keep_alive(client->get(), kTcpKeepAlive);
  limit_unsent(client->get());
  expect_keep_alive(client->get());
  EXPECT_EQ(option(client->get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT), kNotSentLowatBytes);
  ASSERT_NE(local_address(client->get()).ip(), nullptr);
  EXPECT_EQ(local_address(client->get()).ip()->ip, IpAddress::v4(127, 0, 0, 2));
  EXPECT_EQ(take_socket_error(client->get()), 0);
}

TEST(Sockets, KeepAliveCanBeChangedAndIsAtLeastASecond) {
  const auto fd = open_connection(IpPort{IpAddress::v4(127, 0, 0, 1), 1}, {});
  ASSERT_TRUE(fd.has_value());
  apply_keep_alive(fd->get(), {Ms(5'000), Ms(1), 3});
  EXPECT_EQ(option(fd->get(), IPPROTO_TCP, TCP_KEEPIDLE), 5);
  EXPECT_EQ(option(fd->get(), IPPROTO_TCP, TCP_KEEPINTVL), 1);
  EXPECT_EQ(option(fd->get(), IPPROTO_TCP, TCP_KEEPCNT), 3);
}

// By the range that this machine has now.
TEST(Sockets, APortThatTheKernelChoseIsEphemeralAndAWellKnownOneIsNot) {
  const Descriptor fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_storage storage;
  const socklen_t length = to_sockaddr(IpPort{IpAddress::v4(127, 0, 0, 1)}, storage);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length), 0);
  EXPECT_TRUE(is_ephemeral(local_address(fd.get()).ip()->port));
  EXPECT_FALSE(is_ephemeral(0));
}

TEST(Sockets, SeveralListenersShareAnAddressAndTheTwoAnyAddressesDoNotCollide) {
  const auto v4 = open_listener(IpPort{IpAddress{}}, {.backlog = 8});
  ASSERT_TRUE(v4.has_value());
  const IpPort address = *local_address(v4->get()).ip();
  EXPECT_TRUE(open_listener(address, {.backlog = 8}).has_value());
  const auto v6 = open_listener(IpPort{IpAddress::v6({}), address.port}, {.backlog = 8});
  if (!v6 && v6.error().os_error == EAFNOSUPPORT) GTEST_SKIP() << "no IPv6 on this machine";
  EXPECT_TRUE(v6.has_value());
}

TEST(Sockets, FailuresCarryTheirErrno) {
  const auto foreign = open_listener(IpPort{IpAddress::v4(192, 0, 2, 1)}, {.backlog = 8});
  ASSERT_FALSE(foreign.has_value());
  EXPECT_EQ(foreign.error().os_error, EADDRNOTAVAIL);
  const SocketAddress missing = SocketAddress::unix_socket("/nonexistent/socket");
  const auto fd = open_connection(missing, {});
  ASSERT_TRUE(fd.has_value());
  const auto start = start_connect(fd->get(), missing);
  ASSERT_FALSE(start.has_value());
  EXPECT_EQ(start.error().os_error, ENOENT);
}

TEST(Sockets, AcceptErrorsAreToldApart) {
  EXPECT_EQ(classify_accept(EAGAIN), AcceptFailure::nothing_queued);
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    EXPECT_EQ(classify_accept(error), AcceptFailure::shortage);
  }
  for (const int error : {ECONNABORTED, EPROTO, EPERM, EINTR, ENETDOWN, EHOSTUNREACH}) {
    EXPECT_EQ(classify_accept(error), AcceptFailure::connection);
  }
  EXPECT_EQ(classify_accept(EBADF), AcceptFailure::broken);
}

}  // namespace
}  // namespace hushgate::io
