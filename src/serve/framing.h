// SPDX-License-Identifier: MIT
// serve/framing.h: rules for the head of a request that Boost.Beast leaves to its callers: where
// the body ends (RFC 9112, 6), which host and which path are meant (RFC 9112, 3.2; RFC 9110, 7.2).
// A proxy that reads a head otherwise than the service does would pass a second request inside of
// the first, so every head that allows two readings is refused.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace rankfeed::serve {

// A letter as in ASCII counts as equal to its capital; lower is without capitals.
bool SameWord(std::string_view text, std::string_view lower);

// False: Transfer-Encoding is anything but one `chunked`, or stands in an HTTP/1.0 request or
// beside Content-Length; or Content-Length stands twice or is no number. version: 10 or 11.
bool BodyIsFramed(const boost::beast::http::fields& fields, unsigned version);

// False: Host stands twice or is no host with an optional port, or is missing in HTTP/1.1.
bool HostIsOne(const boost::beast::http::fields& fields, unsigned version);

// The path of a target in origin form (/path?query), absolute form (http://host/path?query), or,
// for OPTIONS, the form "*": without query, repeated slashes, and a slash in the end. Nothing for
// any other target.
std::optional<std::string> PathOf(std::string_view method, std::string_view target);

}  // namespace rankfeed::serve
