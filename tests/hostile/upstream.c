// An upstream for hostile runs: one thread, epoll, HTTP/1.1 with Content-Length. Prints its port, then what it saw.
//   upstream [--deaf] [--port N]   --deaf: ignores Connection: close, never closes by itself
//
//   /ok/...      "ok"                      /bytes/N   N bytes of the pattern       /late/MS/...  "ok", MS later
//   /hold/NAME   never answers; prints "gone NAME NANOSECONDS" (CLOCK_MONOTONIC) when the connection ends
//   /sink        (with a body) how many bytes came and how many were not the pattern's
//   /n/ID        "ok"; /count says: deliveries, the most of one ID, connections so far
// The pattern's byte i is (i % PERIOD) * 31 / 7 mod 256, so that a shifted or lost piece shows.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD = 65521, PIECE = 65536, HEAD = 8192, IDS = 1 << 20, CONNS = 1 << 16, EVENTS = 512, QUEUE = 1 << 18 };

typedef struct {
  int fd, open;
  char head[HEAD];  // of the request, and whatever came behind it
  size_t held;
  char name[64];          // of /hold
  long long body, taken;  // request body: announced, received
  long long bad;          // ... not the pattern's
  int sinks, closes, busy;
  char answer[256];
  size_t answer_len, answer_sent;
  long long bytes, bytes_sent;  // generated response body
  long long due;                // of /late, ns; 0: none
} Conn;

static unsigned char pattern[PERIOD + PIECE];
static unsigned char received[PIECE];
static Conn *conns[CONNS];
static unsigned char deliveries[IDS];
static long long delivered, most, accepted;
static int poller, deaf, late_count;

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void drop(Conn *c) {
  if (c->name[0]) {
    printf("gone %s %lld\n", c->name, now_ns());
    fflush(stdout);
  }
  if (c->due) --late_count;
  close(c->fd);
  conns[c->fd] = NULL;
  free(c);
}

static void watch(Conn *c, int writing) {
  struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | (writing ? EPOLLOUT : 0), .data.fd = c->fd};
  epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
}

static void say(Conn *c, const char *text) {
  c->answer_len = (size_t)snprintf(c->answer, sizeof c->answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n%s",
                                   strlen(text), c->closes && !deaf ? "Connection: close\r\n" : "", text);
  c->answer_sent = 0;
}

// The request is whole: decides what to say.
static void answer(Conn *c) {
  char text[128] = "ok", *path = strchr(c->head, ' ');
  path = path ? path + 1 : c->head;
  c->busy = 1;
  if (!strncmp(path, "/bytes/", 7)) {
    c->bytes = atoll(path + 7);
    c->bytes_sent = 0;
    c->answer_len = (size_t)snprintf(c->answer, sizeof c->answer, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n", c->bytes);
    c->answer_sent = 0;
    return;
  }
  if (!strncmp(path, "/hold/", 6)) {
    sscanf(path + 6, "%63[^ /?]", c->name);
    c->answer_len = 0;
    return;
  }
  if (!strncmp(path, "/late/", 6)) {
    c->due = now_ns() + atoll(path + 6) * 1000000LL;
    ++late_count;
  }
  const char *id = strstr(path, "/n/");
  if (id && id < path + 32) {
    long long n = atoll(id + 3) % IDS;
    ++delivered;
    if (++deliveries[n] > most) most = deliveries[n];
  }
  if (!strncmp(path, "/count", 6)) snprintf(text, sizeof text, "%lld %lld %lld", delivered, most, accepted);
  if (c->sinks) snprintf(text, sizeof text, "%lld %lld", c->taken, c->bad);
  say(c, text);
}

// 0 when the connection is gone.
static int flush_out(Conn *c) {
  if (c->due) return 1;
  while (c->answer_sent < c->answer_len || c->bytes_sent < c->bytes) {
    ssize_t n;
    if (c->answer_sent < c->answer_len) {
      n = send(c->fd, c->answer + c->answer_sent, c->answer_len - c->answer_sent, MSG_NOSIGNAL);
      if (n > 0) c->answer_sent += (size_t)n;
    } else {
      long long left = c->bytes - c->bytes_sent;
      n = send(c->fd, pattern + c->bytes_sent % PERIOD, (size_t)(left < PIECE ? left : PIECE), MSG_NOSIGNAL);
      if (n > 0) c->bytes_sent += n;
    }
    if (n < 0) {
      if (errno != EAGAIN) return drop(c), 0;
      return watch(c, 1), 1;
    }
  }
  if (c->answer_len == 0) return 1;
  if (c->closes && !deaf) return drop(c), 0;
  c->busy = c->sinks = 0;
  c->answer_len = c->answer_sent = 0;
  c->bytes = c->bytes_sent = c->body = c->taken = c->bad = 0;
  watch(c, 0);
  return 1;
}

static void take_body(Conn *c, const unsigned char *data, size_t n) {
  if (c->sinks && memcmp(data, pattern + c->taken % PERIOD, n)) c->bad += (long long)n;
  c->taken += (long long)n;
}

// 0 when the connection is gone.
static int take_head(Conn *c) {
  for (;;) {
    c->head[c->held] = 0;
    char *end = c->busy ? NULL : strstr(c->head, "\r\n\r\n");
    if (!end) return 1;
    *end = 0;
    char *length = strcasestr(c->head, "\r\ncontent-length:");
    c->body = length ? atoll(length + 17) : 0;
    c->taken = c->bad = 0;
    c->closes = strcasestr(c->head, "\r\nconnection: close") != NULL;
    c->sinks = strstr(c->head, " /sink") != NULL;
    size_t used = (size_t)(end + 4 - c->head), rest = c->held - used;
    if ((long long)rest > c->body) rest = (size_t)c->body;
    take_body(c, (unsigned char *)c->head + used, rest);
    if (c->taken < c->body) return c->held = 0, c->busy = 1, 1;
    answer(c);
    memmove(c->head, c->head + used + rest, c->held - used - rest);
    c->held -= used + rest;
    if (!flush_out(c)) return 0;
  }
}

static void readable(Conn *c) {
  for (int turns = 0; turns < 16; ++turns) {
    const int in_body = c->taken < c->body;
    long long left = c->body - c->taken;
    size_t room = in_body ? (size_t)(left < PIECE ? left : PIECE) : HEAD - 1 - c->held;
    if (room == 0) return drop(c);
    ssize_t n = recv(c->fd, in_body ? (char *)received : c->head + c->held, room, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return drop(c);
    if (!in_body) {
      c->held += (size_t)n;
      if (!take_head(c)) return;
      continue;
    }
    take_body(c, received, (size_t)n);
    if (c->taken < c->body) continue;
    answer(c);
    if (!flush_out(c)) return;
  }
}

static void accept_all(int listener) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    if (fd >= CONNS) {
      close(fd);
      continue;
    }
    int one = 1, queue = QUEUE;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &queue, sizeof queue);
    ++accepted;
    conns[fd] = calloc(1, sizeof(Conn));
    conns[fd]->fd = fd;
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.fd = fd};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
  }
}

static void release_late(void) {
  const long long now = now_ns();
  for (int fd = 0; late_count && fd < CONNS; ++fd) {
    Conn *c = conns[fd];
    if (!c || !c->due || c->due > now) continue;
    c->due = 0;
    --late_count;
    if (flush_out(c)) take_head(c);
  }
}

int main(int argc, char **argv) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--deaf")) deaf = 1;
    if (!strcmp(argv[i], "--port") && i + 1 < argc) a.sin_port = htons((unsigned short)atoi(argv[++i]));
  }
  for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (unsigned char)((i % PERIOD) * 31 / 7);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  socklen_t size = sizeof a;
  if (bind(listener, (struct sockaddr *)&a, size) || listen(listener, 4096)) return perror("upstream"), 1;
  getsockname(listener, (struct sockaddr *)&a, &size);
  printf("port %d\n", ntohs(a.sin_port));
  fflush(stdout);
  poller = epoll_create1(0);
  struct epoll_event e = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
  for (;;) {
    int n = epoll_wait(poller, events, EVENTS, late_count ? 5 : -1);
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        accept_all(listener);
        continue;
      }
      if (conns[fd] && events[i].events & EPOLLOUT && !flush_out(conns[fd])) continue;
      if (conns[fd] && events[i].events & ~(unsigned)EPOLLOUT) readable(conns[fd]);
    }
    if (late_count) release_late();
  }
}
