"""What docs/benchmarks.md says in words."""

ABOUT = """## How it is measured

- **One core, side by side, in turns.** Gateway, load and upstream are pinned to one core with one worker each, so that nothing
  hides in another core's idle time. The participants take turns, every round begins with another one, and ratios are
  taken within a round: what the machine did meanwhile happened to all, though not at the same price.
- **CPU per operation** is what all processes and threads of a gateway used (`schedstat`, nanoseconds), divided by the
  answers of that time. It is read while the load stands still, before and after. How it divides into user and system
  is sampled by the kernel's tick, and is rough.
- **Throughput** is that of the whole chain on that core: upstream and load cost the same in front of everybody.
- **Latency** at a fixed rate counts from the moment at which a request was *due* (open loop): a gateway that stalls is charged
  for all who would have come meanwhile. In closed loops the latency columns mostly show how many wait in line.
- **Memory** is PSS, what the processes have in user space. The kernel's sockets are not in it.
- **Floors** forward bytes and know no HTTP: what the kernel charges for the work (`bench/floor`). The io_uring floor uses
  multishot receives with provided buffers.
- **Peers** get the settings that help them: nginx passes uploads on unbuffered, writes no temporary files and buffers its access
  log; HAProxy is shown with and without `http-no-delay` for streams; Caddy has `GOMAXPROCS=1` and flushes streams
  at once. The Node gateway is `bench/node_gateway.mjs`."""

CASES = {
    "get": "Closed loop: each connection asks again once it was answered. {rounds} rounds of {key_s:g} s for 64 connections with 90 "
           "bytes and 1 MB, else {side_rounds} of {side_s:g} s. CPU µs are per answer.",
    "post": "The contract wants a new upstream connection for each unsafe request; the peers are made to do the same (nginx without "
            "keep-alive, HAProxy `http-reuse never` with `http-server-close`), and the harness counts that they did. The floor "
            "connects for each request. {rounds} rounds of {key_s:g} s.",
    "sse": "An upstream writes an event of 73 bytes per stream every 100 ms, spread over the milliseconds; each carries its moment. "
           "Latency is from that moment to its arrival at the client; `direct` is the same without a gateway. Memory is what the "
           "open streams added. {stream_s:g} s each. With 8 000 streams the load has the other cores; where less than all was "
           "delivered, somebody was saturated, and latency there is the length of a queue. No line is written per event: logs "
           "on changes little here.",
    "idle": "10 000 clients that have asked once, kept alive. *Slope*: PSS between 2 000 and 7 000 of them. *All*: the whole process "
            "÷ 10 000. *Idle CPU*: of {idle_s:g} s in which nothing comes; for hushgate that is the sweeper. {idle_rounds} rounds, "
            "gateways started afresh.",
    "fresh": "Each request on a connection of its own with `Connection: close`; towards the upstream connections are kept alive. "
             "{more_rounds} rounds of {side_s:g} s.",
    "bulk": "One body of {gb:g} GB over one connection. {side_rounds} rounds.",
    "latency": "Open loop at two fifths of what nginx can do on one core here: once with all on one core, once with all cores for "
               "everybody, because pinning flatters whoever batches. Delivered: answers ÷ requests that were due. {more_rounds} rounds "
               "of {key_s:g} s.",
    "tls": "TLS 1.3 to clients, a P-256 certificate, the upstream in the clear; the load is OpenSSL too and shares the core, so that "
           "ratios are those of CPU in the gateway. Then a connection for each GET: full handshakes, and resumed ones (every "
           "resumption is checked by the load). {rounds} rounds of {key_s:g} s.",
    "h2": "The load is h2load: 4 connections with 16 streams each, answers of 90 bytes, in turns over TLS 1.3 and, with prior "
          "knowledge, in the clear. To HTTP/2 upstreams: HAProxy (`proto h2`), since nginx has none but gRPC's way; to HTTP/1.1: "
          "nginx and HAProxy with their keep-alive pools. CPU is read when h2load says that it begins to count, and when it says "
          "that it ends. POST: 200 bytes from 64 clients of HTTP/1.1; hushgate sends them over its shared connection, HAProxy "
          "(`HAProxy h2`) too, nginx and HAProxy also from their pools, where a POST meets what others have left. Then the upstream "
          "counts how many connections 10 000 of them took. {rounds} rounds of {key_s:g} s.",
    "counted": "Under valgrind, with {requests} and with twice as many requests: the difference is what a request costs, in user space. "
               "Allocations are calls of malloc and of operator new. io_uring is unknown to valgrind.",
    "micro": "Google Benchmark, medians of CPU time on one core; other parsers read the same bytes. Boost.Beast keeps copies of the "
             "fields; http-parser (Node's before llhttp) only calls back.",
}

NOTES = """## What these figures are not

A gateway's figures on loopback say what it adds, not what a network would show. On few cores, and where other guests share the
machine, absolute figures move by tens of per cent from day to day; ratios within a run move less, and their spread is
shown. They move all the same, and a narrow spread is no proof: a machine that is busy throughout costs some participants more than others.
The harness measures what others use, and says so at the top. Measure on yours."""
