// The schema tells people which keys need a restart; `changes` decides it.
#include <gtest/gtest.h>

#include "app/changes.h"
#include "config/schema.h"

namespace hushgate::app {
namespace {

TEST(Changes, WhatNeedsARestartIsWhatTheSchemaSays) {
  for (const config::Key& key : config::schema()) {
    if (key.kind == config::Kind::group || key.path.contains('[')) continue;
    EXPECT_EQ(needs_restart({.key = std::string(key.path), .before = {}, .after = {}}),
              key.effect == config::Effect::restart)
        << key.path;
  }
}

}  // namespace
}  // namespace hushgate::app
