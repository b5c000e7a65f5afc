#include "proxy/phase_doc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hushgate::proxy::phase {
namespace {

std::filesystem::path document_path() {
  return std::filesystem::path(__FILE__).parent_path() / ".." / ".." / "docs" / "phases.md";
}

TEST(PhaseDoc, TheDocumentInTheTreeIsWhatTheTableSays) {
  const std::string wanted = document();
  if (std::getenv("HUSHGATE_WRITE_DOCS") != nullptr) {
    std::ofstream(document_path(), std::ios::binary) << wanted;
  }
  std::ifstream file(document_path(), std::ios::binary);
  ASSERT_TRUE(file) << "docs/phases.md is missing: run this test with HUSHGATE_WRITE_DOCS=1";
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(found == wanted) << "docs/phases.md is not what the table says: run this test with "
                                  "HUSHGATE_WRITE_DOCS=1, and read what changed";
}

// What lets the document leave the twins out.
TEST(PhaseDoc, ALastExchangeStepsAsAnyOtherButForItsEnd) {
  for (const State& state : reachable_states()) {
    const State twin = last_twin(state);
    const bool before = state.conn == Conn::fresh || state.conn == Conn::kept;
    if (state == twin || state.conn == Conn::tunnel || state.conn == Conn::closing) continue;
    for (int i = 0; i < kEvents; ++i) {
      const Event event = static_cast<Event>(i);
      ASSERT_EQ(applicable(state, event), applicable(twin, event));
      if (!applicable(state, event)) continue;
      const Step any = step(state, event);
      const Step last = step(twin, event);
      const bool ends = any.client == ClientEffect::keep ||
                        (any.state.out == Out::done && state.out != Out::done &&
                         any.state.conn == Conn::exchange) ||
                        (before && event == Event::client_deadline);
      EXPECT_EQ(last.upstream, any.upstream);
      EXPECT_EQ(last.client, ends ? ClientEffect::linger : any.client) << name(event);
      const bool goes_on = any.state.conn <= Conn::exchange;
      EXPECT_EQ(last.state, ends      ? State{.conn = Conn::closing}
                            : goes_on ? last_twin(any.state)
                                      : any.state)
          << name(event);
    }
  }
}

TEST(PhaseDoc, EveryNameIsUsedOnceInItsEnum) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kEvents; ++i) names.push_back(name(static_cast<Event>(i)));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(std::ranges::find(names, "?"), names.end());
}

}  // namespace
}  // namespace hushgate::proxy::phase
