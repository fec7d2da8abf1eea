// SPDX-License-Identifier: MIT
#include "folder/document.h"

#include <fstream>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "base/other_kind.h"
#include "platform/files/file_calls.h"

namespace rankfeed::folder {
using builder::BuildError;

void ShortenIntegers(simdjson::padded_string* text) {
  constexpr size_t kMostDigits = 19;
  char* const data = text->data();
  const auto is_digit = [&](size_t at) { return at < text->size() && data[at] >= '0' && data[at] <= '9'; };
  bool quoted = false;
  for (size_t at = 0; at < text->size();) {
    if (data[at] == '\\' && quoted) {
      at += 2;
      continue;
    }
    quoted ^= data[at] == '"';
    if (quoted || !is_digit(at)) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (is_digit(at)) ++at;
    const char next = at < text->size() ? data[at] : ' ', before = begin > 0 ? data[begin - 1] : ' ';
    const bool part = next == '.' || next == 'e' || next == 'E' || before == '.' || before == 'e' || before == 'E' || before == '+';
    if (at - begin <= kMostDigits || part) continue;
    data[at - 2] = 'e';
    data[at - 1] = '0';
  }
}

std::string ReadIfThere(const std::string& path) {
  files::FileInfo info;
  if (files::InfoOf(path.c_str(), &info) != 0) return {};
  if (const char* const why = files::WhyUnreadable(path.c_str(), files::ReadAs::kWhole)) {
    throw BuildError(RANKFEED_E_IO, path, ": ", why, ", not a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOMEM) throw std::bad_alloc();
  if (!file) throw BuildError(RANKFEED_E_IO, path, ": ", std::generic_category().message(errno));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) throw BuildError(RANKFEED_E_PARSE, path, ": the file is empty");
  if (const char* const what = OtherKind(text)) throw BuildError(RANKFEED_E_PARSE, path, ": is ", what);
  return text;
}

Document::Document(std::string_view text, std::string name, Root kind)
    : source_{std::move(name), simdjson::padded_string(text.empty() ? "{}" : text)} {
  ShortenIntegers(&source_.text);
  simdjson::dom::element root;
  const auto error = WithMemory(parser_.parse(source_.text).get(root));
  if (error != simdjson::SUCCESS) builder::FailParse(source_, error);
  root_.emplace(source_, root, "");
  const bool is_list = kind == Root::kList && root_->is_array();
  if (!root_->is_object() && !is_list) root_->Fail(RANKFEED_E_PARSE, "must be an object");
}

}  // namespace rankfeed::folder
