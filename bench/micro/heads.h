// Heads that clients and upstreams really send.
#pragma once

#include <string_view>

namespace hushgate::bench {

// What a small program sends: 3 fields.
inline constexpr std::string_view kSmallRequest =
    "GET /v1/items?limit=20 HTTP/1.1\r\n"
    "Host: api.example.com\r\n"
    "User-Agent: curl/7.88.1\r\n"
    "Accept: */*\r\n\r\n";

// What a browser sends: 13 fields.
inline constexpr std::string_view kBrowserRequest =
    "GET /dashboard/projects/4711?tab=activity HTTP/1.1\r\n"
    "Host: app.example.com\r\n"
    "Connection: keep-alive\r\n"
    "Cache-Control: max-age=0\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
    "\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Referer: https://app.example.com/dashboard\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Cookie: session=c2Vzc2lvbi1pZC1vZi1zb21lLWxlbmd0aA; theme=dark; consent=1\r\n\r\n";

inline constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\n"
    "Date: Sun, 29 Nov 2026 12:00:00 GMT\r\n"
    "Server: uvicorn\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 90\r\n"
    "Vary: Accept-Encoding\r\n\r\n";

}  // namespace hushgate::bench
