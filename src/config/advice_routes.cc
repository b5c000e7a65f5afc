#include "config/advice_routes.h"

#include <algorithm>
#include <string_view>

#include "config/fault.h"

namespace hushgate::config {
namespace {

constexpr std::string_view kShortestLine = "GET  HTTP/1.1";  // around the path

// Of globs ("*"), of templates ("{id}", ":id", "<id>") and of regular expressions ("(.*)", "$").
bool is_pattern(std::string_view segment) {
  return segment.starts_with(':') || segment.find_first_of("*{}<>()^$|") != std::string_view::npos;
}

// The path up to its first segment that is a pattern, with the slash before that; the whole path if
// none is.
std::string_view literal_part(std::string_view path) {
  for (std::size_t begin = 1; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (is_pattern(path.substr(begin, end - begin))) return path.substr(0, begin);
    begin = end + 1;
  }
  return path;
}

std::string path_is(std::size_t index, std::string_view path) {
  return "routes[" + std::to_string(index) + "].path is " + quoted(path);
}

void about_route(const Config& config, std::size_t index, std::vector<std::string>& advice) {
  const std::string& path = config.routes[index].path;
  const std::size_t most = config.limits.max_request_line_bytes;
  if (path.size() + kShortestLine.size() > most) {
    advice.push_back(path_is(index, path) + ", which can never match: with it a request line has " +
                     std::to_string(path.size() + kShortestLine.size()) +
                     " bytes at least, and limits.maxRequestLineBytes is " + std::to_string(most) +
                     ", so that it is answered 414. Raise that, or leave the route out.");
    return;
  }
  const std::string_view literal = literal_part(path);
  if (literal.size() == path.size()) return;
  advice.push_back(path_is(index, path) +
                   ", which matches nothing but these very characters: there are no patterns here, "
                   "a path covers itself and all below it. Write " +
                   quoted(literal) + '.');
}

// "/a" and "/a/": the second one takes everything below.
void about_slashes(const Config& config, std::size_t index, std::vector<std::string>& advice) {
  const std::string& path = config.routes[index].path;
  const auto longer = std::ranges::find(config.routes, path + '/', &Route::path);
  if (path == "/" || longer == config.routes.end()) return;
  if (longer->upstream == config.routes[index].upstream) return;
  advice.push_back(path_is(index, path) + ", which matches " + quoted(path) +
                   " alone: everything below it belongs to routes[" +
                   std::to_string(longer - config.routes.begin()) + "], " + quoted(longer->path) +
                   ". If one upstream is to have both, leave the other route out.");
}

}  // namespace

void about_routes(const Config& config, std::vector<std::string>& advice) {
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    about_route(config, i, advice);
    about_slashes(config, i, advice);
  }
}

}  // namespace hushgate::config
