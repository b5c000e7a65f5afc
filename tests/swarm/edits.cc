#include "tests/swarm/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hushgate::swarm {
namespace {

void simplify(Weather& weather, std::size_t which) {
  const Weather calm;
  switch (which) {
    case 0: weather.latency_max = weather.latency_min; break;
    case 1: weather.short_takes_percent = 0; break;
    case 2: weather.short_writes_percent = 0; break;
    case 3: weather.worker_stall_percent = 0; break;
    case 4: weather.link_stall_percent = 0; break;
    case 5: weather.max_segment_bytes = calm.max_segment_bytes; break;
    case 6:
      weather.client_window_bytes = weather.upstream_window_bytes = calm.client_window_bytes;
      break;
    default: weather.send_buffer_bytes = calm.send_buffer_bytes; break;
  }
}

void make_proper(Plan& plan, const Edit& edit) {
  for (ClientPlan& client : plan.clients) {
    for (Ask& ask : client.asks) {
      if (ask.id == edit.first && edit.second < ask.answers.size()) ask.answers[edit.second] = {};
    }
  }
}

void apply_one(Plan& plan, const Edit& edit) {
  const bool of_client = edit.kind == 'c' || edit.kind == 'p';
  if (of_client && edit.first >= plan.clients.size()) return;
  switch (edit.kind) {
    case 'c': {
      auto& steps = plan.clients[edit.first].steps;
      steps.resize(std::min(steps.size(), edit.second));
      break;
    }
    case 'p': {
      auto& steps = plan.clients[edit.first].steps;
      if (edit.second < steps.size()) steps[edit.second].time = {};
      break;
    }
    case 'a': make_proper(plan, edit); break;
    case 'o':
      if (edit.first < plan.ordeals.size()) plan.ordeals[edit.first].at = kNotAtAll;
      break;
    case 'w': simplify(plan.weather, edit.first); break;
    case 'n': plan.names.clear(); break;
    default: break;
  }
}

// Everything that might be taken away from `plan`, the largest parts first.
std::vector<Edit> candidates(const Plan& plan) {
  std::vector<Edit> edits;
  for (std::size_t i = plan.clients.size(); i-- > 0;) edits.push_back({'c', i, 0});
  for (std::size_t i = plan.ordeals.size(); i-- > 0;) edits.push_back({'o', i});
  for (std::size_t i = 0; i < kWeathers; ++i) edits.push_back({'w', i});
  edits.push_back({'n'});
  for (std::size_t i = 0; i < plan.clients.size(); ++i) {
    const ClientPlan& client = plan.clients[i];
    for (std::size_t n = client.steps.size(); n-- > 1;) edits.push_back({'c', i, n});
    for (std::size_t n = 0; n < client.steps.size(); ++n) {
      if (client.steps[n].kind == Step::Kind::pause) edits.push_back({'p', i, n});
    }
    for (const Ask& ask : client.asks) {
      for (std::size_t n = 0; n < ask.answers.size(); ++n) edits.push_back({'a', ask.id, n});
    }
  }
  return edits;
}

// Does the edit touch a client that is not there any more?
bool is_idle(const Plan& plan, const Edit& edit) {
  if (edit.kind == 'a') {
    return std::ranges::none_of(plan.clients, [&](const ClientPlan& client) {
      return !client.steps.empty() &&
             std::ranges::find(client.asks, edit.first, &Ask::id) != client.asks.end();
    });
  }
  if (edit.kind == 'o') return plan.ordeals[edit.first].at == kNotAtAll;
  if (edit.kind != 'c' && edit.kind != 'p') return false;
  return plan.clients[edit.first].steps.size() <= edit.second;
}

}  // namespace

std::string to_text(const std::vector<Edit>& edits) {
  std::string text;
  for (const Edit& edit : edits) {
    if (!text.empty()) text += ' ';
    text += edit.kind;
    if (edit.kind == 'n') continue;
    text += std::to_string(edit.first);
    const bool pair = edit.kind == 'a' || edit.kind == 'p' || (edit.kind == 'c' && edit.second > 0);
    if (pair) text += '.' + std::to_string(edit.second);
  }
  return text;
}

std::vector<Edit> edits_of(std::string_view text) {
  std::vector<Edit> edits;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    Edit edit{word[0]};
    const char* const end = word.data() + word.size();
    const auto first = std::from_chars(word.data() + 1, end, edit.first);
    if (first.ptr != end && *first.ptr == '.') std::from_chars(first.ptr + 1, end, edit.second);
    edits.push_back(edit);
  }
  return edits;
}

Plan edited(Plan plan, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) apply_one(plan, edit);
  return plan;
}

std::vector<Edit> shrink(const Plan& plan, const std::function<bool(const Plan&)>& fails,
                         std::size_t most) {
  std::vector<Edit> kept;
  Plan smallest = plan;
  std::size_t tries = 0;
  for (bool smaller = true; smaller && tries < most;) {
    smaller = false;
    for (const Edit& edit : candidates(smallest)) {
      if (tries >= most) break;
      if (is_idle(smallest, edit)) continue;
      Plan next = edited(smallest, {edit});
      ++tries;
      if (!fails(next)) continue;
      smallest = std::move(next);
      kept.push_back(edit);
      smaller = edit.kind == 'c' || edit.kind == 'o';
    }
  }
  return kept;
}

}  // namespace hushgate::swarm
