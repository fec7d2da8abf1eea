// SPDX-License-Identifier: MIT
// serve/framing.cc: see framing.h.
#include "serve/framing.h"

#include <algorithm>

namespace rankfeed::serve {
namespace {

namespace http = boost::beast::http;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsLetterOrDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// RFC 3986, 3.2.2 and 3.2.3, without a check of addresses: [address] or name, then :port.
bool IsHost(std::string_view text) {
  size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == text.npos) return false;
    constexpr std::string_view kOfAddresses = ":.";
    if (!std::all_of(text.begin() + 1, text.begin() + static_cast<ptrdiff_t>(end), [&](char c) {
          return IsLetterOrDigit(c) || kOfAddresses.find(c) != kOfAddresses.npos;
        })) {
      return false;
    }
    ++end;
  } else {
    constexpr std::string_view kOfNames = "-._~%!$&'()*+,;=";
    while (end < text.size() &&
           (IsLetterOrDigit(text[end]) || kOfNames.find(text[end]) != kOfNames.npos)) {
      ++end;
    }
  }
  const std::string_view port = text.substr(end);
  return port.empty() || (port[0] == ':' && std::all_of(port.begin() + 1, port.end(), IsDigit));
}

std::string_view ValueOf(const http::fields& fields, http::field name) {
  const auto value = fields[name];
  return {value.data(), value.size()};
}

}  // namespace

bool SameWord(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

bool BodyIsFramed(const http::fields& fields, unsigned version) {
  const size_t codings = fields.count(http::field::transfer_encoding);
  const size_t lengths = fields.count(http::field::content_length);
  if (codings + lengths > 1) return false;
  if (codings != 0) {
    return version >= 11 && SameWord(ValueOf(fields, http::field::transfer_encoding), "chunked");
  }
  const std::string_view length = ValueOf(fields, http::field::content_length);
  return lengths == 0 || (!length.empty() && std::all_of(length.begin(), length.end(), IsDigit));
}

bool HostIsOne(const http::fields& fields, unsigned version) {
  const size_t hosts = fields.count(http::field::host);
  return hosts <= 1 && (hosts == 1 || version < 11) && IsHost(ValueOf(fields, http::field::host));
}

std::optional<std::string> PathOf(std::string_view method, std::string_view target) {
  if (target == "*" && method == "OPTIONS") return std::string(target);
  if (const size_t colon = target.find("://"); colon != target.npos && !target.starts_with('/')) {
    const std::string_view scheme = target.substr(0, colon);
    if (!SameWord(scheme, "http") && !SameWord(scheme, "https")) return std::nullopt;
    target.remove_prefix(colon + 3);
    const std::string_view host = target.substr(0, target.find_first_of("/?#"));
    if (host.empty() || host.starts_with(':') || !IsHost(host)) return std::nullopt;
    target.remove_prefix(host.size());
  } else if (!target.starts_with('/')) {
    return std::nullopt;
  }
  std::string out = "/";
  for (const char c : target.substr(0, target.find_first_of("?#"))) {
    if (c != '/' || out.back() != '/') out += c;
  }
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

}  // namespace rankfeed::serve
