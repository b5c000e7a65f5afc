#include "app/server_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace hushgate::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string of_listener(int os_error) {
  return cannot_listen(*IpPort::parse("127.0.0.1:80"), "listen[0]", os_error, 1'024);
}

TEST(ServerErrors, WhatKeepsAListenerFromOpeningIsToldWithWhatToDo) {
  struct Case {
    int os_error;
    const char* words;
  };
  for (const Case& c : {
           Case{EADDRINUSE,
                "Address already in use; another process listens there (`ss -ltnp "
                "'sport = :80'` tells which): stop it, or give listen[0] another port"},
           {EACCES,
            "Permission denied; ports below 1024 (net.ipv4.ip_unprivileged_port_start) "
            "need CAP_NET_BIND_SERVICE"},
           {EADDRNOTAVAIL, "give listen[0] one of those, or \":80\" for all of them"},
           {EAFNOSUPPORT, "this machine has no IPv6: give listen[0] an IPv4 address"},
           {EMFILE, "this process may have 1024 descriptors open (RLIMIT_NOFILE): raise that"},
           {ENFILE, "raise fs.file-max"},
           {ENOMEM, "the kernel has no memory left"},
           {EIO, "; see listen[0]"},
       }) {
    EXPECT_THAT(of_listener(c.os_error), AllOf(StartsWith("cannot listen on 127.0.0.1:80 "
                                                          "(listen[0]): "),
                                               HasSubstr(c.words)));
  }
}

TEST(ServerErrors, WhatKeepsAWorkerFromStartingIsTold) {
  EXPECT_EQ(cannot_make_worker(3, 8, EMFILE, 16),
            "cannot make the event loop of worker 3 of 8: Too many open files; this process may "
            "have 16 descriptors open (RLIMIT_NOFILE): raise that (ulimit -n, LimitNOFILE= of "
            "systemd), or lower workers or the number of listeners");
  EXPECT_EQ(cannot_make_worker(1, 1, EINVAL, 16),
            "cannot make the event loop of worker 1 of 1: Invalid argument");
  EXPECT_THAT(cannot_start_thread(EAGAIN),
              AllOf(StartsWith("cannot start a thread: Resource temporarily unavailable; raise "),
                    HasSubstr("TasksMax="), HasSubstr("lower workers")));
}

}  // namespace
}  // namespace hushgate::app
