// SPDX-License-Identifier: MIT
// cli/text_source.cc: see text_source.h. A progress bar is drawn on stderr when it is a terminal and
// the input is a file of more than kProgressFrom bytes.
#include "cli/text_source.h"

#include <errno.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/other_kind.h"
#include "platform/files/file_calls.h"
#include "cli/cli.h"

namespace rankfeed::cli {
namespace {

constexpr uint64_t kProgressFrom = 4u << 20;  // bytes; below this a run takes well under a second

}  // namespace

struct TextSource::JsonParser {
  simdjson::dom::parser parser;
};

TextSource::TextSource(const std::string& path, Format format)
    : path_(path.empty() || path == "-" ? "standard input" : path) {
  jsonl_ = format == Format::kJsonl || (format == Format::kByName && path.ends_with(".jsonl"));
  if (jsonl_) json_ = std::make_unique<JsonParser>();
  const bool standard = path.empty() || path == "-";
  file_ = standard ? stdin : std::fopen(path.c_str(), "rb");
  if (file_ == nullptr) throw Failure("{}: {}", path_, strerror(errno));
  if (const char* why = files::WhyUnreadable(fileno(file_), files::ReadAs::kStream)) {
    if (!standard) std::fclose(file_);
    throw Failure("{}: {}, not a file", path_, why);
  }
  if (standard) return;
  CheckKind();
  struct stat info;
  if (isatty(STDERR_FILENO) && fstat(fileno(file_), &info) == 0 &&
      static_cast<uint64_t>(info.st_size) > kProgressFrom) {
    progress_total_ = static_cast<uint64_t>(info.st_size);
  }
}

TextSource::~TextSource() {
  if (progress_total_ != 0 && progress_next_ != 0) std::fputs("\r\033[K", stderr);
  if (file_ != nullptr && file_ != stdin) std::fclose(file_);
  free(buffer_);
}

// Refuses what no text begins with: an archive, UTF-16, a git-lfs pointer. Pages are texts.
void TextSource::CheckKind() {
  if (std::fseek(file_, 0, SEEK_SET) != 0) return;  // a pipe
  char begin[32];
  const std::string_view read(begin, std::fread(begin, 1, sizeof begin, file_));
  std::rewind(file_);
  const char* const what = OtherKind(read);
  if (what == nullptr || read.starts_with('<')) return;
  std::fclose(std::exchange(file_, nullptr));
  throw Failure("{}: is {}", path_, what);
}

bool TextSource::NextLine() {
  errno = 0;
  const ssize_t size = getline(&buffer_, &buffer_size_, file_);
  if (size < 0) {
    if (std::ferror(file_)) throw Failure("{}: {}", path_, strerror(errno));
    return false;
  }
  line_size_ = static_cast<size_t>(size);
  bytes_ += line_size_;
  ++line_;
  // A byte order mark before the first line is no part of it, and neither is a carriage return before a line feed.
  if (line_ == 1 && std::string_view(buffer_, line_size_).starts_with("\xEF\xBB\xBF")) {
    line_size_ -= 3;
    memmove(buffer_, buffer_ + 3, line_size_ + 1);
  }
  if (line_size_ > 0 && buffer_[line_size_ - 1] == '\n') --line_size_;
  if (line_size_ > 0 && buffer_[line_size_] == '\n' && buffer_[line_size_ - 1] == '\r') --line_size_;
  if (progress_total_ != 0 && bytes_ >= progress_next_) ShowProgress();
  return true;
}

void TextSource::ShowProgress() {
  constexpr int kWidth = 40;
  const int done = static_cast<int>(bytes_ * kWidth / progress_total_);
  fmt::print(stderr, "\r[{:=<{}}{:{}}] {:3}%  {} texts", "", done, "", kWidth - done,
             bytes_ * 100 / progress_total_, line_);
  progress_next_ = bytes_ + progress_total_ / 200;
}

bool TextSource::Next(std::string* text, std::string* id, bool may_lack_text) {
  do {
    if (!NextLine()) return false;
    // Blank lines separate nothing in JSONL; in line format they are empty texts.
  } while (jsonl_ && std::string_view(buffer_, line_size_).find_first_not_of(" \t\r") ==
                         std::string_view::npos);
  if (!jsonl_) {
    text->assign(buffer_, line_size_);
    if (id != nullptr) id->clear();
    return true;
  }
  const auto fail = [&](std::string_view reason) {
    return Failure("{}:{}: {}", path_, line_, reason);
  };
  simdjson::dom::element object;
  if (const auto error = json_->parser.parse(buffer_, line_size_).get(object)) {
    throw fail(simdjson::error_message(error));
  }
  std::string_view value;
  has_text_ = !object["text"].get(value);
  if (!has_text_ && !(may_lack_text && object["text"].error() == simdjson::NO_SUCH_FIELD)) {
    throw fail("no string field \"text\"");
  }
  text->assign(has_text_ ? value : std::string_view());
  if (id != nullptr) {
    id->clear();
    const auto given = object["id"];
    int64_t number;
    uint64_t large;
    if (!given.get(value)) {
      id->assign(value);
    } else if (!given.get(number)) {
      *id = std::to_string(number);
    } else if (!given.get(large)) {
      *id = std::to_string(large);
    } else if (given.error() == simdjson::SUCCESS && !given.is_null()) {
      throw fail("\"id\" is no string and no integer");
    }
    if (given.error() == simdjson::SUCCESS && !given.is_null() && id->empty()) throw fail("\"id\" is empty");
  }
  return true;
}

}  // namespace rankfeed::cli
