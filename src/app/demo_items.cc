#include "app/demo_items.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "app/demo_json.h"

namespace hushgate::app {
namespace {

std::string shown(std::uint64_t id, std::string_view item) {
  return fmt::format(R"({{"id":{},"item":{}}})", id, item);
}

// The item that a body holds, or the refusal.
struct Read {
  std::optional<std::string> item{};
  DemoReply refusal{};
};

Read read_item(const DemoRequest& request) {
  if (request.body_bytes > kMaxDemoBodyBytes) {
    return {.refusal = error_reply(413, "The body is over 1 MiB.")};
  }
  auto item = compact_json(request.body);
  if (!item) return {.refusal = error_reply(400, "The body is no JSON.")};
  if (item->size() > kMaxDemoItemBytes) {
    return {.refusal = error_reply(413, "An item has at most 4096 bytes.")};
  }
  return {.item = std::move(item)};
}

}  // namespace

DemoReply DemoItems::answer(const DemoRequest& request, std::string_view rest) {
  if (rest.empty()) return answer_all(request);
  const auto id = http::parse_decimal(rest.substr(1), std::numeric_limits<std::uint64_t>::max());
  const auto found = id ? items_.find(*id) : items_.end();
  if (found == items_.end()) return error_reply(404, "There is no such item.");
  return answer_one(request, found);
}

DemoReply DemoItems::answer_all(const DemoRequest& request) {
  if (is_read(request.head.method)) return list();
  if (request.head.method != http::Method::post) return method_refused("GET, HEAD, POST");
  Read read = read_item(request);
  if (!read.item) return std::move(read.refusal);
  if (items_.size() >= kMaxDemoItems) return error_reply(507, "There are 1000 items already.");
  const std::uint64_t id = ++last_id_;
  DemoReply reply = json_reply(201, shown(id, *read.item));
  reply.fields = fmt::format("Location: /items/{}\r\n", id);
  items_.emplace(id, *std::move(read.item));
  return reply;
}

DemoReply DemoItems::answer_one(const DemoRequest& request, Items::iterator found) {
  if (is_read(request.head.method)) return json_reply(200, shown(found->first, found->second));
  if (request.head.method == http::Method::delete_) {
    items_.erase(found);
    return {.status = 204, .steps = {{}}};
  }
  if (request.head.method != http::Method::put) return method_refused("GET, HEAD, PUT, DELETE");
  Read read = read_item(request);
  if (!read.item) return std::move(read.refusal);
  found->second = *std::move(read.item);
  return json_reply(200, shown(found->first, found->second));
}

DemoReply DemoItems::list() const {
  std::string all = "[";
  for (const auto& [id, item] : items_) {
    if (all.size() > 1) all += ',';
    all += shown(id, item);
  }
  return json_reply(200, all + ']');
}

}  // namespace hushgate::app
