// docs/errors.md, written from three tables: the errors of errors.cc with what to do about each,
// the log events of log_events.cc, the counters of stats. The tests hold the file against them and
// them against the sources; with HUSHGATE_WRITE_DOCS=1 the file is written.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "stats/counters.h"

namespace hushgate::proxy {

// What an operator wants to know of an error beyond its facts. Whole sentences.
struct ErrorHelp {
  ErrorKind kind;
  std::string_view happened;
  std::string_view bounds;  // which settings bound it, in backquotes; empty: none does
  std::string_view act;     // what to do
};

const ErrorHelp& help(ErrorKind kind);

struct CounterHelp {
  stats::Counter counter;
  std::string_view meaning;
};

const CounterHelp& help(stats::Counter counter);

// The whole document, Markdown.
std::string errors_document();

}  // namespace hushgate::proxy
