// SPDX-License-Identifier: MIT
// cli/encode.cc: `rankfeed encode` and `rankfeed decode`.
//
// Output contract of `encode --ids` (the default), used by scripts: the ids of each input text as
// one line, separated by single spaces; an empty line for no ids.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/growing_encoder.h"
#include "cli/text_source.h"
#include "rankfeed/builder.hpp"
#include "serve/stretch_error.h"

namespace rankfeed::cli {
namespace {

enum class Output { kIds, kPieces, kJson };

struct EncodeOptions {
  VocabOptions vocab;
  SpecialsOption specials;
  std::string file = "-", extra_options, offsets = "code-points";
  bool special = false, jsonl = false, ids = false, pieces = false, json = false, stats = false;
  bool file_defaults = false;
  uint32_t max_stretch_bytes = 0;

  uint32_t unit() const {
    return offsets == "bytes" ? 0 : offsets == "utf16" ? RANKFEED_OFFSETS_UTF16 : RANKFEED_OFFSETS_CODE_POINTS;
  }
};

// Writes to stdout in large blocks; a full disk or closed pipe ends the command.
class Writer {
 public:
  std::string& line() { return buffer_; }
  void EndLine() {
    buffer_ += '\n';
    if (buffer_.size() > (1u << 18)) Flush();
  }
  void Flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), stdout) != buffer_.size() ||
        std::fflush(stdout) != 0) {
      throw Failure("writing to standard output failed: {}", strerror(errno));
    }
    buffer_.clear();
  }

 private:
  std::string buffer_;
};

void ParseExtraOptions(const std::string& text, rankfeed_encode_options* options) {
  size_t count = 0;
  for (size_t from = 0; from <= text.size() && !text.empty();) {
    const size_t colon = std::min(text.find(':', from), text.size());
    const std::string_view name = std::string_view(text).substr(from, colon - from);
    const uint8_t op = name == "bos"       ? RANKFEED_SP_BOS
                       : name == "eos"     ? RANKFEED_SP_EOS
                       : name == "reverse" ? RANKFEED_SP_REVERSE
                       : name == "unk"     ? RANKFEED_SP_UNK
                                           : 0;
    if (op == 0) throw Failure("--extra-options: unknown option \"{}\"", name);
    if (count == sizeof(options->sp_extra)) throw Failure("--extra-options: too many options");
    options->sp_extra[count++] = op;
    from = colon + 1;
  }
}

std::string_view Piece(const rankfeed_model* model, int32_t id) {
  const char* data = nullptr;
  size_t size = 0;
  (void)rankfeed_model_id_to_piece(model, static_cast<uint32_t>(id), &data, &size);
  return {data, size};
}

void WriteEncoding(const rankfeed_model* model, Output output, const Encoding& e,
                   std::string* line) {
  if (output == Output::kJson) {
    auto pieces = nlohmann::ordered_json::array(), offsets = nlohmann::ordered_json::array();
    for (size_t i = 0; i < e.input_ids.size(); ++i) {
      pieces.push_back(std::string(Piece(model, e.input_ids[i])));
      offsets.push_back(nlohmann::ordered_json::array({e.offset_begin[i], e.offset_end[i]}));
    }
    const nlohmann::ordered_json object = {{"ids", e.input_ids},
                                           {"pieces", std::move(pieces)},
                                           {"offsets", std::move(offsets)},
                                           {"special_tokens_mask", e.special_tokens_mask}};
    *line += object.dump();
    return;
  }
  for (size_t i = 0; i < e.input_ids.size(); ++i) {
    if (i != 0) *line += ' ';
    if (output == Output::kPieces) {
      *line += Piece(model, e.input_ids[i]);
    } else {
      fmt::format_to(std::back_inserter(*line), "{}", e.input_ids[i]);
    }
  }
}

// Calls for every column, with what a pad token has in it.
template <class Call>
void ForColumns(Encoding* e, bool offsets, int32_t pad_id, Call call) {
  call(&e->input_ids, pad_id);
  if (offsets) call(&e->offset_begin, 0u), call(&e->offset_end, 0u);
  call(&e->special_tokens_mask, uint8_t{1});
}

// Cuts and pads one text as tokenizers.Tokenizer.encode does by its file's truncation and padding, but
// for the windows after the first. The template's tokens stand around the text and are not cut.
// Returns what is wrong, or nothing.
std::string Fit(const FileDefaults& defaults, bool offsets, Encoding* e) {
  if (const auto& cut = defaults.truncation) {
    const auto& mask = e->special_tokens_mask;
    const size_t size = mask.size();
    const auto prefix = static_cast<size_t>(std::find(mask.begin(), mask.end(), 0) - mask.begin());
    const auto suffix = static_cast<size_t>(std::find(mask.rbegin(), mask.rend(), 0) - mask.rbegin());
    const size_t text = prefix == size ? 0 : size - prefix - suffix;
    if (size > cut->max_length) {
      if (cut->strategy == "only_second") return "the file cuts the second of two texts, and there is one";
      if (cut->max_length < size - text) {
        return fmt::format("the file's max_length is {}, below the {} special tokens", cut->max_length, size - text);
      }
      const auto over = static_cast<ptrdiff_t>(size - cut->max_length);
      const auto from = static_cast<ptrdiff_t>(cut->side == "left" ? prefix : prefix + text) - (cut->side == "left" ? 0 : over);
      ForColumns(e, offsets, 0, [&](auto* column, auto) { column->erase(column->begin() + from, column->begin() + from + over); });
    }
  }
  if (const auto& pad = defaults.padding) {
    const size_t size = e->input_ids.size();
    size_t length = pad->length.value_or(static_cast<uint32_t>(size));
    length = (length + pad->multiple - 1) / pad->multiple * pad->multiple;
    if (length <= size) return "";
    ForColumns(e, offsets, pad->id, [&](auto* column, auto value) {
      column->insert(pad->side == "left" ? column->begin() : column->end(), length - size, value);
    });
  }
  return "";
}

// Texts and bytes by road, to stderr.
void PrintRoads(const RoadCounts& roads, const char* isa) {
  fmt::print(stderr, "{:<14} {:>12} {:>16}\n", "road", "texts", "bytes");
  for (uint32_t i = 0; i < roads.size(); ++i) {
    if (i != RANKFEED_REASON_NONE && roads[i].texts == 0 && roads[i].bytes == 0) continue;
    fmt::print(stderr, "{:<14} {:>12} {:>16}\n", rankfeed_reason_name(i), roads[i].texts,
               roads[i].bytes);
  }
  fmt::print(stderr, "instruction set: {}\n", isa);
}

void RunEncode(const EncodeOptions& o) {
  const Vocabulary vocab = o.vocab.Load();
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  if (o.special) options.flags |= RANKFEED_ADD_SPECIAL_TOKENS;
  options.flags |= o.specials.flags();
  options.flags |= o.unit();
  ParseExtraOptions(o.extra_options, &options);
  if (!o.extra_options.empty() && Info(vocab.model()).parity == RANKFEED_PARITY_HUGGINGFACE) {
    throw Failure("--extra-options belongs to SentencePiece parity");
  }
  const FileDefaults defaults = o.file_defaults ? o.vocab.Defaults() : FileDefaults{};
  const Output output = o.json ? Output::kJson : o.pieces ? Output::kPieces : Output::kIds;

  TextSource source(o.file,
                    o.jsonl ? TextSource::Format::kJsonl : TextSource::Format::kByName);
  GrowingEncoder encoder(vocab.model(), output == Output::kJson, o.max_stretch_bytes);
  Encoding encoding;
  Writer writer;
  std::string text;
  while (source.Next(&text)) {
    if (const Error error = encoder.For(text.size()).Encode(text, options, &encoding)) {
      writer.Flush();
      throw Failure(error.status == RANKFEED_E_LIMIT
                    ? fmt::format("text {} {}", source.line(),
                    serve::StretchError(vocab.model(), text.size(), o.max_stretch_bytes))
                    : fmt::format("text {}: {}", source.line(), error.message));
    }
    if (const std::string wrong = Fit(defaults, output == Output::kJson, &encoding); !wrong.empty()) {
      writer.Flush();
      throw Failure("text {}: {}", source.line(), wrong);
    }
    WriteEncoding(vocab.model(), output, encoding, &writer.line());
    writer.EndLine();
  }
  writer.Flush();
  if (o.stats) PrintRoads(encoder.Roads(), encoder.For(0).Isa());
}

struct DecodeOptions {
  VocabOptions vocab;
  std::string file = "-";
  bool skip_special = false;
};

void ParseIds(std::string_view line, uint64_t number, std::vector<int32_t>* ids) {
  ids->clear();
  const char* p = line.data();
  const char* const end = p + line.size();
  while (true) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) ++p;
    if (p == end) return;
    int32_t id;
    const auto [next, error] = std::from_chars(p, end, id);
    if (error != std::errc() || id < 0 || (next < end && *next != ' ' && *next != '\t' && *next != '\r')) {
      throw Failure("line {}, column {}: not an id", number, p - line.data() + 1);
    }
    ids->push_back(id);
    p = next;
  }
}

void RunDecode(const DecodeOptions& o) {
  const Vocabulary vocab = o.vocab.Load();
  TextSource source(o.file, TextSource::Format::kLines);
  GrowingEncoder encoder(vocab.model(), false);
  Writer writer;
  std::string line, text;
  std::vector<int32_t> ids;
  while (source.Next(&line)) {
    ParseIds(line, source.line(), &ids);
    if (const Error error = encoder.For(ids.size()).Decode(ids, o.skip_special, &text)) {
      writer.Flush();
      throw Failure("line {}: {}", source.line(), error.message);
    }
    writer.line() += text;
    writer.EndLine();
  }
  writer.Flush();
}

}  // namespace

void AddEncode(CLI::App& app) {
  auto* command = app.add_subcommand("encode", "Encode texts, one per line or JSONL");
  auto o = std::make_shared<EncodeOptions>();
  o->vocab.Add(*command);
  command->add_option("FILE", o->file, "Texts; standard input when absent or -");
  command->add_flag("--special", o->special, "Add the special tokens of the template");
  o->specials.Add(*command);
  command->add_option("--extra-options", o->extra_options,
                      "SentencePiece extra options in order, for example bos:eos:reverse");
  command->add_flag("--jsonl", o->jsonl,
                    "Every line is a JSON object with a string field \"text\" (default for files "
                    "named *.jsonl)");
  auto* ids = command->add_flag("--ids", o->ids, "Print ids (default)");
  auto* pieces = command->add_flag("--pieces", o->pieces, "Print pieces");
  auto* json = command->add_flag("--json", o->json,
                                 "Print a JSON object per text: ids, pieces, offsets, "
                                 "special_tokens_mask");
  ids->excludes(pieces)->excludes(json);
  pieces->excludes(json);
  command
      ->add_option("--offsets", o->offsets,
                   "With --json: what offsets count, code-points (default, Python), bytes, or utf16 "
                   "(code units, as JavaScript and Java)")
      ->check(CLI::IsMember({"code-points", "bytes", "utf16"}))
      ->needs(json);
  command->add_flag("--file-defaults", o->file_defaults,
                    "Cut and pad each text as the truncation and padding inside tokenizer.json say, as "
                    "tokenizers.Tokenizer.encode does; without it they are left aside");
  AddMaxStretchBytes(*command, o->max_stretch_bytes);
  command->add_flag("--stats", o->stats,
                    "Then print to standard error how many texts and bytes took the fast road, and "
                    "why others did not");
  command->callback([o] {
    o->specials.Take(o->vocab.Config());
    RunEncode(*o);
  });
}

void AddDecode(CLI::App& app) {
  auto* command = app.add_subcommand("decode", "Decode ids: one text per line of ids");
  auto o = std::make_shared<DecodeOptions>();
  o->vocab.Add(*command);
  command->add_option("FILE", o->file, "Lines of ids; standard input when absent or -");
  command->add_flag("--skip-special-tokens", o->skip_special, "Leave special tokens out");
  command->callback([o] { RunDecode(*o); });
}

}  // namespace rankfeed::cli
