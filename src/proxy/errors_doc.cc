#include "proxy/errors_doc.h"

#include <fmt/format.h>

#include <array>

#include "proxy/errors.h"
#include "proxy/log_events.h"

namespace hushgate::proxy {
namespace {

constexpr std::string_view kHead = R"(# Errors and log events

Written from the tables in `src/proxy/errors.cc`, `errors_help.cc` and `log_events.cc` by
`proxy_test` with `HUSHGATE_WRITE_DOCS=1`; tests hold it against them, and them against the
sources. Do not edit it here.

## What a client is told

Every answer of hushgate's own is JSON,
`{"error":{"type":"...","message":"...","request_id":"..."}}`, with `X-Request-Id` and
`Proxy-Status` (RFC 9209). The request id leads to the `exchange` line in the log, which has the
address, errno and times. A 503 carries `Retry-After: 1`. `x-should-retry: true` means that
nothing of the request was sent to an upstream, or that it proved not to have processed it; `false`
that an unsafe request was sent and its fate is unknown: SDKs that repeat on 5xx by themselves ask
for this field.

A gRPC request (`application/grpc`, `application/grpc+...`) gets HTTP 200 with `grpc-status` and
`grpc-message` in place of the JSON, by gRPC's own table: 14 (UNAVAILABLE) for 429, 502, 503 and
504, 13 for 400, 16 for 401, 7 for 403, 12 for 404, else 2; the other fields are the same.

An answer that carries `Via` but not this JSON came from the upstream, whatever its status.

)";

constexpr std::string_view kCuts = R"(
## When there is no answer

Once bytes of a response have left, an error can only cut it, visibly: no last chunk, or a reset.
Then the types above stand in the log alone, and so do these:

)";

constexpr std::string_view kEvents = R"(
## Log events

Lines on standard error: JSON objects, or readable text if that is a terminal. Each has `time`,
`level` and `event`. Levels: info is the ordinary course, warning deserves a look, error means
that something asked for was not done.

| event | level | what it means | bounded by | what to do |
|---|---|---|---|---|
)";

constexpr std::string_view kFields = R"(
### Their fields

| field | in | meaning |
|---|---|---|
)";

constexpr std::string_view kCounters = R"(
### Counters

Fields of `worker_stopped`, each since the start of the process.

| counter | counts |
|---|---|
)";

constexpr std::string_view kStart = R"(
## When it does not start

`serve` and `check` end with exit code 1 and a line on standard error for every fault, 2 for wrong
usage. A line says what to do; this is what is behind it.

| the line begins with | what is behind it |
|---|---|
)";

struct StartFailure {
  std::string_view begin;
  std::string_view behind;
};

constexpr std::array kStartFailures{
    StartFailure{"FILE:LINE:COLUMN:",
                 "the setting there is wrong: what it is, what would be right"},
    StartFailure{"environment NAME:", "the same of an environment variable"},
    StartFailure{"command line --FLAG:", "the same of the command line"},
    StartFailure{"FILE: the file cannot be read:",
                 "path and permissions, as the user that the service has"},
    StartFailure{"cannot listen on ADDRESS (KEY): Address already in use",
                 "`ss -ltnp` says who listens there. hushgate asks before it binds, so that two of "
                 "them never share a port unnoticed"},
    StartFailure{"cannot listen on ADDRESS (KEY): Permission denied",
                 "ports below 1024 need CAP_NET_BIND_SERVICE"},
    StartFailure{"cannot listen on ADDRESS (KEY): Cannot assign requested address",
                 "this machine has no such address, or has not got it yet"},
    StartFailure{"cannot make the event loop of worker", "descriptors or memory are at their end"},
    StartFailure{"cannot start the threads of",
                 "the bound on processes: `ulimit -u`, TasksMax=, pids.max"},
};

std::string_view or_dash(std::string_view text) { return text.empty() ? "–" : text; }

// A cell of a table: a raw '|' would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : or_dash(text)) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void add_answers(std::string& out) {
  out += "| status, type, Proxy-Status | side | what happened | bounded by | what to do |\n";
  out += "|---|---|---|---|---|\n";
  for (std::uint16_t status = 400; status < 600; ++status) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(ErrorKind::response_timeout); ++i) {
      const ErrorFacts& error = facts(static_cast<ErrorKind>(i));
      if (error.status != status) continue;
      const ErrorHelp& more = help(error.kind);
      out += fmt::format("| {} `{}`<br>`{}` | {} | {} | {} | {} |\n", error.status, error.type,
                         error.proxy_status, name(error.side), cell(more.happened),
                         cell(more.bounds), cell(more.act));
    }
  }
}

void add_cuts(std::string& out) {
  out += "| type | side | what happened | bounded by | what to do |\n|---|---|---|---|---|\n";
  for (std::size_t i = 1; i <= static_cast<std::size_t>(ErrorKind::response_timeout); ++i) {
    const ErrorFacts& error = facts(static_cast<ErrorKind>(i));
    if (error.status != 0) continue;
    const ErrorHelp& more = help(error.kind);
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", error.type, name(error.side),
                       cell(more.happened), cell(more.bounds), cell(more.act));
  }
}

// Whether `list`, names between spaces, holds the name.
bool holds(std::string_view list, std::string_view name) {
  return fmt::format(" {} ", list).contains(fmt::format(" {} ", name));
}

void add_fields(std::string& out) {
  for (const LogField& field : log_fields()) {
    std::string events;
    for (const LogEvent& event : log_events()) {
      if (!holds(event.fields, field.name)) continue;
      events += fmt::format("{}{}", events.empty() ? "" : ", ", event.name);
    }
    out += fmt::format("| `{}` | {} | {} |\n", field.name, events, cell(field.meaning));
  }
}

}  // namespace

std::string errors_document() {
  std::string out(kHead);
  add_answers(out);
  out += kCuts;
  add_cuts(out);
  out += kEvents;
  for (const LogEvent& event : log_events()) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", event.name, name(event.level),
                       cell(event.meaning), cell(event.bounds), cell(event.act));
  }
  out += kFields;
  add_fields(out);
  out += kCounters;
  for (std::size_t i = 0; i < stats::kCounters; ++i) {
    const auto counter = static_cast<stats::Counter>(i);
    out += fmt::format("| `{}` | {} |\n", stats::name(counter), cell(help(counter).meaning));
  }
  out += kStart;
  for (const StartFailure& failure : kStartFailures) {
    out += fmt::format("| `{}` | {} |\n", failure.begin, failure.behind);
  }
  return out;
}

}  // namespace hushgate::proxy
