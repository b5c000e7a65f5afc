// Every event that hushgate logs, in one table: for docs/errors.md. A test holds it against the
// sources of all floors, so that none is missing and none is told that is not there.
#pragma once

#include <span>
#include <string_view>

#include "base/log.h"

namespace hushgate::proxy {

struct LogField {
  std::string_view name;
  std::string_view meaning;
};

struct LogEvent {
  std::string_view name;
  LogLevel level;
  std::string_view
      fields;  // names of log_fields(), separated by spaces; without time, level, event
  std::string_view meaning;  // a sentence or more
  std::string_view bounds;   // settings in backquotes; empty: none
  std::string_view act;      // what to do
};

// In the order in which people should meet them.
std::span<const LogEvent> log_events();
std::span<const LogField> log_fields();

}  // namespace hushgate::proxy
