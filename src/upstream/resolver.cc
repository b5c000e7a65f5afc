#include "upstream/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "http/text.h"

namespace hushgate::upstream {
namespace {

// RFC 6761 section 6.3: localhost and what is below it is loopback, both kinds, whatever a hosts
// file forgot. A dev server may listen on either only.
bool is_localhost(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  constexpr std::string_view kName = "localhost";
  if (host.size() < kName.size()) return false;
  const std::string_view end = host.substr(host.size() - kName.size());
  if (!http::equals_lower(end, kName)) return false;
  return host.size() == kName.size() || host[host.size() - kName.size() - 1] == '.';
}

NameAnswer resolve(const std::string& host) {
  if (is_localhost(host)) {
    return std::vector<IpAddress>{*IpAddress::parse("::1"), IpAddress::v4(127, 0, 0, 1)};
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (code != 0) return fail(ErrorKind::dns_error, code);
  std::vector<IpAddress> addresses;
  for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
    const auto address = from_sockaddr(*item->ai_addr);
    if (address && std::ranges::find(addresses, address->ip) == addresses.end()) {
      addresses.push_back(address->ip);
    }
  }
  ::freeaddrinfo(list);
  if (addresses.empty()) return fail(ErrorKind::dns_error, EAI_NONAME);
  return addresses;
}

}  // namespace

SystemNames::SystemNames() {
  std::thread([desk = desk_] { work(desk); }).detach();
}

SystemNames::~SystemNames() {
  {
    const std::lock_guard lock(desk_->mutex);
    desk_->ending = true;
  }
  desk_->changed.notify_one();
}

void SystemNames::query(io::Loop& loop, const std::string& host,
                        std::function<void(NameAnswer)> done) {
  {
    const std::lock_guard lock(desk_->mutex);
    desk_->queries.push_back({&loop, host, std::move(done)});
  }
  desk_->changed.notify_one();
}

// Answers are posted under the lock: behind `ending` there may be no loop any more.
void SystemNames::work(const std::shared_ptr<Desk>& desk) {
  std::unique_lock lock(desk->mutex);
  for (;;) {
    desk->changed.wait(lock, [&] { return desk->ending || !desk->queries.empty(); });
    if (desk->ending) return;
    Query query = std::move(desk->queries.front());
    desk->queries.pop_front();
    lock.unlock();
    NameAnswer answer = resolve(query.host);
    lock.lock();
    if (desk->ending) return;
    query.loop->post([done = std::move(query.done), answer = std::move(answer)] { done(answer); });
  }
}

std::vector<IpAddress> interleaved(std::vector<IpAddress> addresses) {
  if (addresses.size() < 2) return addresses;
  std::vector<IpAddress> result;
  const IpFamily first = addresses.front().family();
  std::vector<IpAddress> same, other;
  for (const IpAddress& address : addresses) {
    (address.family() == first ? same : other).push_back(address);
  }
  for (std::size_t i = 0; i < std::max(same.size(), other.size()); ++i) {
    if (i < same.size()) result.push_back(same[i]);
    if (i < other.size()) result.push_back(other[i]);
  }
  if (result.size() > kMaxAddresses) result.resize(kMaxAddresses);
  return result;
}

Name::Name(io::Loop& loop, NameSource& source, std::string host)
    : loop_(loop), source_(source), host_(std::move(host)), self_(std::make_shared<Name*>(this)) {}

Name::Name(io::Loop& loop, NameSource& source, IpAddress literal)
    : loop_(loop),
      source_(source),
      state_(State::known),
      addresses_{literal},
      self_(std::make_shared<Name*>(this)) {}

Name::~Name() { *self_ = nullptr; }

void Name::ask(Time now) {
  if (under_way_ || host_.empty()) return;
  under_way_ = true;
  asked_at_ = now;
  source_.query(loop_, host_, [self = self_](NameAnswer answer) {
    if (*self != nullptr) (*self)->answered(std::move(answer));
  });
}

void Name::need(NameWait& wait, Time now) {
  if (host_.empty()) return;
  if (state_ == State::known) {
    if (now - answered_at_ > kNameFresh && now - asked_at_ > kNameAskPause) ask(now);
    return;
  }
  if (state_ != State::asking) state_ = State::asking;
  ask(now);
  if (state_ == State::asking && !wait.linked()) waits_.push_back(wait);
}

void Name::doubt(Time now) {
  if (now - asked_at_ > kNameAskPause) ask(now);
}

void Name::prefer(const IpAddress& winner) {
  winner_ = winner;
  const auto found = std::ranges::find(addresses_, winner);
  if (found != addresses_.end()) std::rotate(addresses_.begin(), found, found + 1);
}

void Name::inherit(const Name& before) {
  if (host_.empty() || host_ != before.host_ || before.state_ != State::known) return;
  state_ = State::known;
  addresses_ = before.addresses_;
  winner_ = before.winner_;
  asked_at_ = before.asked_at_;
  answered_at_ = before.answered_at_;
}

void Name::answered(NameAnswer answer) {
  under_way_ = false;
  if (answer) {
    addresses_ = interleaved(std::move(*answer));
    if (winner_) prefer(*winner_);
    state_ = State::known;
    answered_at_ = loop_.now();
  } else if (state_ != State::known) {
    error_ = answer.error();
    state_ = State::failed;
  }
  while (NameWait* wait = waits_.pop_front()) loop_.ready(wait->target);
}

}  // namespace hushgate::upstream
