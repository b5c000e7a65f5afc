// Clients that squat: squatters PORT SILENT HEADS BODIES READERS BYTES SECONDS
//   SILENT connections send nothing; HEADS send a byte of a head every 300 ms, BODIES a byte of a body; READERS ask for
//   /bytes/BYTES with a small receive buffer and read nothing. All keep on, also after a 408, until they are gone.
// Prints "open N MS" when all are connected, then per connection "KIND FIRST GONE": ms from its connect to the first sign
// (an answer or a FIN) and to its end, -1 where that never came. Ends when all are gone or after SECONDS.
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

enum { SILENT, HEADS, BODIES, READERS, KINDS };
enum { BATCH = 80, BATCH_MS = 10, DRIP_MS = 300, EVENTS = 1024, BUFFER = 4096 };

static const char *const names[] = {"silent", "head", "body", "reader"};
typedef struct {
  int fd, kind, up;
  double begun, next, first, gone;
  size_t sent;
} Conn;

static int poller;
static long alive, connected;
static const char *big;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void end(Conn *c) {
  if (c->fd < 0) return;
  c->gone = now_ms();
  if (c->first < 0) c->first = c->gone;
  close(c->fd);
  c->fd = -1;
  --alive;
}

static void begin(Conn *c, int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port),
                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (c->fd < 0) perror("squatters"), exit(1);
  int small = BUFFER, one = 1;
  if (c->kind == READERS) setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  c->first = c->gone = -1;
  ++alive;
  c->begun = now_ms();
  if (connect(c->fd, (struct sockaddr *)&a, sizeof a) && errno != EINPROGRESS) perror("squatters"), exit(1);
  struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
  epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e);
}

static void send_bytes(Conn *c, const char *bytes, size_t n) {
  if (send(c->fd, bytes, n, MSG_NOSIGNAL) < 0 && errno != EAGAIN) end(c);
}

// The connection stands: what comes at once.
static void opened(Conn *c) {
  char text[128];
  c->up = 1;
  c->next = now_ms() + (double)(rand() % DRIP_MS);
  ++connected;
  if (c->kind == BODIES) {
    const char *head = "POST /ok HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
    send_bytes(c, head, strlen(head));
  }
  if (c->kind == READERS) {
    snprintf(text, sizeof text, "GET /bytes/%s HTTP/1.1\r\nHost: x\r\n\r\n", big);
    send_bytes(c, text, strlen(text));
  }
}

static void drip(Conn *c, double now) {
  static const char head[] = "GET /ok HTTP/1.1\r\nHost: x\r\nX-Long: ";
  char byte = c->kind == HEADS && c->sent < sizeof head - 1 ? head[c->sent] : 'a';
  if (c->sent++ == 0 && c->kind == HEADS) c->begun = now;  // the head's budget runs from its first byte
  c->next = now + DRIP_MS;
  send_bytes(c, &byte, 1);
}

static void happened(Conn *c, unsigned events) {
  char data[2048];
  if (c->fd < 0) return;
  if (events & EPOLLERR) return end(c);
  if (!c->up && events & EPOLLOUT) opened(c);
  if (c->fd < 0 || !(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))) return;
  if (c->kind == READERS) return events & (EPOLLRDHUP | EPOLLHUP) ? end(c) : (void)0;
  for (;;) {
    ssize_t n = recv(c->fd, data, sizeof data, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (c->first < 0) c->first = now_ms();
    if (n < 0 || (n == 0 && c->kind == SILENT)) return end(c);
    if (n == 0) return;  // a FIN: the drip goes on until it meets a reset
  }
}

int main(int argc, char **argv) {
  if (argc != 8) return fputs("squatters PORT SILENT HEADS BODIES READERS BYTES SECONDS\n", stderr), 2;
  const int port = atoi(argv[1]);
  const double start = now_ms(), limit = start + atof(argv[7]) * 1e3;
  long total = 0, opening = 0, counts[KINDS];
  big = argv[6];
  for (int k = 0; k < KINDS; ++k) total += counts[k] = atol(argv[2 + k]);
  Conn *conns = calloc((size_t)total, sizeof *conns);
  for (long i = 0, k = 0, of_kind = 0; i < total; ++i, ++of_kind) {
    while (of_kind == counts[k]) ++k, of_kind = 0;
    conns[i].kind = (int)k;
  }
  poller = epoll_create1(0);
  struct epoll_event events[EVENTS];
  int said = 0;
  double last_drips = 0;
  while ((opening < total || alive) && now_ms() < limit) {
    const long allowed = (long)((now_ms() - start) / BATCH_MS + 1) * BATCH;
    for (int n = 0; n < BATCH && opening < total && opening < allowed; ++n) begin(&conns[opening++], port);
    const int n = epoll_wait(poller, events, EVENTS, BATCH_MS);
    for (int i = 0; i < n; ++i) happened(events[i].data.ptr, events[i].events);
    if (!said && connected == total) said = printf("open %ld %.0f\n", total, now_ms() - start), fflush(stdout);
    const double now = now_ms();
    if (now - last_drips < BATCH_MS) continue;
    last_drips = now;
    for (long i = 0; i < opening; ++i) {
      Conn *c = &conns[i];
      if ((c->kind == HEADS || c->kind == BODIES) && c->up && c->fd >= 0 && c->next <= now) drip(c, now);
    }
  }
  for (long i = 0; i < total; ++i) {
    const Conn *c = &conns[i];
    printf("%s %.0f %.0f\n", names[c->kind], c->first < 0 ? -1 : c->first - c->begun, c->gone < 0 ? -1 : c->gone - c->begun);
  }
  puts("end");
}
