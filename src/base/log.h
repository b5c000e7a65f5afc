// The log: lines to standard error, as JSON for machines or readable for a terminal. A worker
// formats lines into its own buffer and hands them over together; one thread of the
// sink writes them, so that a slow reader of standard error never holds up a worker. When it cannot
// keep up, the oldest lines are dropped and counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/log_text.h"

namespace spdlog {
class logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace hushgate {

enum class LogFormat : std::uint8_t { json, text };
enum class LogLevel : std::uint8_t { info, warning, error };

// As it stands in the log.
std::string_view name(LogLevel level);

class LogSink {
 public:
  virtual ~LogSink() = default;
  // Whole lines, each with its newline. From any thread; never blocks.
  virtual void write(std::string_view lines) = 0;
  virtual std::uint64_t dropped() const = 0;  // batches lost so far
};

// Standard error through a queue of kLogQueue batches, each of some 128 KiB at most, and a thread
// of its own.
inline constexpr std::size_t kLogQueue = 128;
inline constexpr Ms kLogFlushAtStop{1'000};
class StderrSink final : public LogSink {
 public:
  StderrSink();
  // Writes out what is queued, for kLogFlushAtStop at most: nobody may be reading standard error.
  ~StderrSink() override;
  void write(std::string_view lines) override;
  std::uint64_t dropped() const override;

 private:
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::logger> logger_;
};

class LogBuffer;

// One line under construction; it is complete when the object ends. Keys are ours and need no
// escaping; values may be anything. Millisecond fields are written with three decimals.
class LogLine {
 public:
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine();

  LogLine& text(std::string_view key, std::string_view value);
  LogLine& number(std::string_view key, std::uint64_t value);
  LogLine& ms(std::string_view key, Duration value);

 private:
  friend class LogBuffer;
  LogLine(LogBuffer& log, Time now, LogLevel level, std::string_view event);

  LogBuffer& log_;
};

// A worker's. Not shared.
class LogBuffer {
 public:
  // `wall_offset`: what turns a Time into time since the Unix epoch.
  LogBuffer(LogSink& sink, LogFormat format, Duration wall_offset)
      : sink_(sink), format_(format), wall_offset_(wall_offset) {}
  ~LogBuffer() { flush(); }

  LogLine line(Time now, LogLevel level, std::string_view event) {
    return {*this, now, level, event};
  }
  bool empty() const { return text_.empty(); }
  void flush();

 private:
  friend class LogLine;
  static constexpr std::size_t kFlushBytes = 131'072;

  void put_time(Duration since_epoch);

  LogSink& sink_;
  LogFormat format_;
  Duration wall_offset_;
  LogText text_;
  // The clock's text up to its second, which most lines share.
  std::int64_t second_ = -1;
  std::array<char, 19> second_text_{};  // "2001-09-09T01:46:40"
};

// The offset between this machine's wall clock and its steady clock, now.
Duration wall_offset_now();

}  // namespace hushgate
