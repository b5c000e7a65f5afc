#include "base/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <cstdio>
#include <future>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

namespace hushgate {
namespace {

// JSON string contents (RFC 8259 section 7). Bytes outside of ASCII are escaped as Latin-1, so that
// any peer's bytes make a valid line.
void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
}

void append_time(std::string& out, Duration since_epoch, LogFormat format) {
  using namespace std::chrono;
  const auto ms = duration_cast<milliseconds>(since_epoch).count();
  const std::tm parts = fmt::gmtime(static_cast<std::time_t>(ms / 1'000));
  if (format == LogFormat::json) {
    fmt::format_to(std::back_inserter(out), "{{\"time\":\"{:%Y-%m-%dT%H:%M:%S}.{:03}Z\"", parts,
                   ms % 1'000);
  } else {
    fmt::format_to(std::back_inserter(out), "{:%H:%M:%S}.{:03}", parts, ms % 1'000);
  }
}

// Without stderr's lock: a writer that sits in its write(2) would hold it, and exit() wants it.
class StderrWriter final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    static_cast<void>(::fwrite_unlocked(message.payload.data(), 1, message.payload.size(), stderr));
  }
  void flush_() override {}
};

}  // namespace

std::string_view name(LogLevel level) {
  switch (level) {
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "info";
}

Duration wall_offset_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()) -
         Clock::now().time_since_epoch();
}

StderrSink::StderrSink()
    : pool_(std::make_shared<spdlog::details::thread_pool>(kLogQueue, 1)),
      logger_(std::make_shared<spdlog::async_logger>(
          "hushgate", std::make_shared<StderrWriter>(), pool_,
          spdlog::async_overflow_policy::overrun_oldest)) {}

// Ending the pool waits for its thread, and that one may sit in a write(2) for ever: another thread
// waits for it. What is not written in time is lost with the process.
StderrSink::~StderrSink() {
  std::promise<void> promise;
  const std::future<void> written = promise.get_future();
  try {
    std::thread([pool = std::move(pool_), logger = std::move(logger_),
                 promise = std::move(promise)]() mutable {
      logger.reset();
      pool.reset();
      promise.set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread to be had: all was written out when the attempt was given up
  }
  written.wait_for(kLogFlushAtStop);
}

void StderrSink::write(std::string_view lines) {
  logger_->log(spdlog::level::info, spdlog::string_view_t(lines.data(), lines.size()));
}

std::uint64_t StderrSink::dropped() const { return pool_->overrun_counter(); }

LogLine::LogLine(LogBuffer& log, Time now, LogLevel level, std::string_view event) : log_(log) {
  append_time(log_.buffer_, now.time_since_epoch() + log_.wall_offset_, log_.format_);
  if (log_.format_ == LogFormat::json) {
    fmt::format_to(std::back_inserter(log_.buffer_), ",\"level\":\"{}\",\"event\":\"{}\"",
                   name(level), event);
  } else {
    fmt::format_to(std::back_inserter(log_.buffer_), " {:7} {}", name(level), event);
  }
}

LogLine::~LogLine() {
  log_.buffer_ += log_.format_ == LogFormat::json ? "}\n" : "\n";
  if (log_.buffer_.size() >= LogBuffer::kFlushBytes) log_.flush();
}

void LogLine::key(std::string_view key) {
  std::string& out = log_.buffer_;
  if (log_.format_ == LogFormat::json) {
    out += ",\"";
    out += key;
    out += "\":";
  } else {
    out += ' ';
    out += key;
    out += '=';
  }
}

LogLine& LogLine::text(std::string_view name, std::string_view value) {
  key(name);
  std::string& out = log_.buffer_;
  const bool quoted = log_.format_ == LogFormat::json || value.empty() ||
                      value.find_first_of(" \"=\\") != std::string_view::npos;
  if (quoted) out += '"';
  append_escaped(out, value);
  if (quoted) out += '"';
  return *this;
}

LogLine& LogLine::number(std::string_view name, std::uint64_t value) {
  key(name);
  fmt::format_to(std::back_inserter(log_.buffer_), "{}", value);
  return *this;
}

LogLine& LogLine::ms(std::string_view name, Duration value) {
  key(name);
  fmt::format_to(std::back_inserter(log_.buffer_), "{:.3f}", to_ms(value));
  return *this;
}

void LogBuffer::flush() {
  if (buffer_.empty()) return;
  sink_.write(buffer_);
  buffer_.clear();
}

}  // namespace hushgate
