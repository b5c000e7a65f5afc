#include "base/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <cstdio>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace hushgate {
namespace {

// The key of a value: `,"key":` and ` key=`.
void put_key(LogText& text, LogFormat format, std::string_view key) {
  if (format == LogFormat::json) {
    text.put(",\"");
    text.put(key);
    text.put("\":");
  } else {
    text.put(' ');
    text.put(key);
    text.put('=');
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

void LogBuffer::put_time(Duration since_epoch) {
  const std::int64_t ms = std::chrono::floor<Ms>(since_epoch).count();
  if (const std::int64_t second = ms / 1'000; second != second_) {
    const std::tm parts = fmt::gmtime(static_cast<std::time_t>(second));
    fmt::format_to_n(second_text_.data(), second_text_.size(), "{:%Y-%m-%dT%H:%M:%S}", parts);
    second_ = second;
  }
  const std::string_view date_and_time(second_text_.data(), second_text_.size());
  constexpr std::size_t kTimeAt = 11;
  text_.put(format_ == LogFormat::json ? date_and_time : date_and_time.substr(kTimeAt));
  text_.put('.');
  text_.put_padded(static_cast<std::uint64_t>(ms % 1'000), 3);
}

void LogBuffer::flush() {
  if (text_.empty()) return;
  sink_.write(text_.view());
  text_.clear();
}

LogLine::LogLine(LogBuffer& log, Time now, LogLevel level, std::string_view event) : log_(log) {
  LogText& text = log_.text_;
  const Duration since_epoch = now.time_since_epoch() + log_.wall_offset_;
  if (log_.format_ == LogFormat::json) {
    text.put("{\"time\":\"");
    log_.put_time(since_epoch);
    text.put("Z\",\"level\":\"");
    text.put(name(level));
    text.put("\",\"event\":\"");
    text.put(event);
    text.put('"');
  } else {
    constexpr std::string_view kBlanks = "       ";  // the longest level, "warning"
    log_.put_time(since_epoch);
    text.put(' ');
    text.put(name(level));
    text.put(kBlanks.substr(name(level).size()));
    text.put(' ');
    text.put(event);
  }
}

LogLine::~LogLine() {
  log_.text_.put(log_.format_ == LogFormat::json ? "}\n" : "\n");
  if (log_.text_.size() >= LogBuffer::kFlushBytes) log_.flush();
}

LogLine& LogLine::text(std::string_view name, std::string_view value) {
  LogText& text = log_.text_;
  put_key(text, log_.format_, name);
  const bool quoted = log_.format_ == LogFormat::json || value.empty() ||
                      value.find_first_of(" \"=\\") != std::string_view::npos;
  if (quoted) text.put('"');
  text.put_escaped(value);
  if (quoted) text.put('"');
  return *this;
}

LogLine& LogLine::number(std::string_view name, std::uint64_t value) {
  put_key(log_.text_, log_.format_, name);
  log_.text_.put_number(value);
  return *this;
}

LogLine& LogLine::ms(std::string_view name, Duration value) {
  put_key(log_.text_, log_.format_, name);
  const auto us = std::chrono::round<std::chrono::microseconds>(value).count();
  if (us < 0) log_.text_.put('-');
  const auto size = static_cast<std::uint64_t>(us < 0 ? -us : us);
  log_.text_.put_number(size / 1'000);
  log_.text_.put('.');
  log_.text_.put_padded(size % 1'000, 3);
  return *this;
}

}  // namespace hushgate
