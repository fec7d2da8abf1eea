// SPDX-License-Identifier: MIT
#include "builder/files/read_hf_json.h"

#include <algorithm>
#include <new>
#include <tuple>
#include <unordered_map>

#include "base/narrow.h"
#include "builder/base/code_points.h"
#include "builder/base/limits.h"
#include "builder/files/hf_pipeline.h"
#include "builder/files/json_value.h"
#include "builder/files/read_bpe.h"
#include "builder/files/serde_number.h"
#include "builder/files/vocabulary.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "trie/double_array.h"

namespace rankfeed::builder {
namespace {

using image::PieceType;
using image::TemplateKind;

constexpr uint32_t kMaxPieces = trie::kNoValue - 1;

constexpr const char* kAdvice = "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes a tokenizer.json as transformers has it; "
                                "the file by itself goes without";

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name, const FileChanges& changes)
      : source_{name, simdjson::padded_string(bytes)}, changes_(changes) {
    // simdjson leaves the string empty when it gets no memory.
    if (source_.text.size() != bytes.size()) throw std::bad_alloc();
  }

  ModelSpec Run() {
    simdjson::dom::element document;
    const auto error = parser_.parse(source_.text).get(document);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error != simdjson::SUCCESS) FailParse(source_, error);
    const Json root(source_, document, "");
    spec_.parity = RANKFEED_PARITY_HUGGINGFACE;
    spec_.source_name = "tokenizer.json";
    if (const auto version = root.Find("version"); version && version->String() != "1.0") {
      version->Fail(RANKFEED_E_UNSUPPORTED, "\"" + version->String() + "\" is not \"1.0\"");
    }
    Rebuild(document);
    const Json model = root.At("model"), &steps = rebuilt_ ? *rebuilt_ : root, settings = steps.At("model");
    spec_.kind = KindOf(model);
    if (spec_.wordpiece()) {
      WordPiece(model, settings);
    } else if (spec_.bpe()) {
      ReadBpe(model, settings, &spec_);
      IndexPieces();
    } else {
      Unigram(model, settings);
    }
    const auto normalizer = steps.Find("normalizer"), pre_tokenizer = steps.Find("pre_tokenizer");
    if (changes_.lower_case) AppendLowercase(normalizer, &spec_.normalizer);
    if (!spec_.normalizer.empty()) spec_.changes += "\nlower case";
    ReadNormalizer(normalizer, &spec_.normalizer, &spec_.charsmap);
    ReadPreTokenizer(pre_tokenizer, &spec_.pre_tokenizer);
    if (spec_.bpe()) {
      FinishBpe(model, &spec_);
    } else if (HasByteLevel(spec_)) {
      pre_tokenizer->Fail(RANKFEED_E_UNSUPPORTED, "has ByteLevel, which is supported with BPE alone");
    }
    ReadDecoder(steps.Find("decoder"), &spec_.decoder);
    const auto added = root.Find("added_tokens");
    NumberAddedTokens(WithThoseBeside(added ? ReadAddedTokens(*added) : std::vector<AddedTokenSpec>()));
    PostProcessor(root.Find("post_processor"));
    if (const auto truncation = root.Find("truncation")) Truncation(*truncation);
    if (const auto padding = root.Find("padding")) Padding(*padding);
    if (spec_.pad_id == image::kNoId && !changes_.pad_token.empty()) spec_.pad_id = IdOf(changes_.pad_token);
    CheckEnds();
    if (changes_.note != nullptr) *changes_.note = std::move(note_);
    return std::move(spec_);
  }

 private:
  // Reads what the class of the folder has in place of the file's elements.
  void Rebuild(const simdjson::dom::element& document) {
    const std::string members = changes_.rebuild ? changes_.rebuild(document, &note_) : "";
    if (members.empty()) return;
    rebuilt_source_ = {source_.name + ", as " + changes_.class_name + " of transformers rebuilds it", simdjson::padded_string(members)};
    simdjson::dom::element root;
    if (rebuilt_parser_.parse(rebuilt_source_.text).get(root) != simdjson::SUCCESS) throw std::bad_alloc();  // it was made from JSON
    rebuilt_.emplace(rebuilt_source_, root, "");
    spec_.changes += "\n" + members;
  }

  static image::ModelKind KindOf(const Json& model) {
    const auto type = model.Find("type");
    if (type) {
      const std::string name = type->String();
      if (name == "Unigram") return image::ModelKind::kUnigram;
      if (name == "WordPiece") return image::ModelKind::kWordPiece;
      if (name == "BPE") return image::ModelKind::kBpe;
      type->Fail(RANKFEED_E_UNSUPPORTED,
                 "\"" + name + "\" is not supported; Unigram, WordPiece and BPE are");
    }
    // Files from before the type was written: only a BPE has merges, a Unigram vocabulary is the only
    // one that is a list, and WordLevel has no prefix.
    if (model.Find("merges")) return image::ModelKind::kBpe;
    if (model.At("vocab").is_array()) return image::ModelKind::kUnigram;
    if (!model.Find("continuing_subword_prefix") || !model.Find("max_input_chars_per_word")) {
      model.Fail(RANKFEED_E_UNSUPPORTED,
                 "has no type and looks like WordLevel; Unigram, WordPiece and BPE are supported");
    }
    return image::ModelKind::kWordPiece;
  }

  // models/wordpiece/serialization.rs: all members are required.
  void WordPiece(const Json& model, const Json& settings) {
    const Json max_chars = settings.At("max_input_chars_per_word");
    const std::string unk_token = model.At("unk_token").ShortString("a token");
    ReadVocabulary(model.At("vocab"), &unk_token, &spec_);
    spec_.continuing_prefix = settings.At("continuing_subword_prefix").ShortString("a prefix");
    // No word has more characters than 32 bits count.
    spec_.max_input_chars =
        static_cast<uint32_t>(std::min<uint64_t>(max_chars.U64(), UINT32_MAX));
    IndexPieces();
  }

  void IndexPieces() {
    piece_ids_.reserve(spec_.pieces.size());
    for (size_t i = 0; i < spec_.pieces.size(); ++i) {
      piece_ids_[spec_.pieces[i].text] = spec_.id_map[i];  // the last of equal ones wins
    }
  }

  [[noreturn]] void FailVocab(size_t i, rankfeed_status status, const std::string& why) {
    const uint64_t offset = vocab_at_;
    throw BuildError(status,
                     source_.name, ": byte ", offset, ": model.vocab[",
                     i, "] ", why).At(offset);
  }

  void Unigram(const Json& model, const Json& settings) {
    const Json vocab = model.At("vocab");
    if (!vocab.is_array()) vocab.Fail(RANKFEED_E_PARSE, "must be an array");
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    simdjson::ondemand::array entries;
    const auto error = parser.iterate(source_.text).get(document);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error != simdjson::SUCCESS ||
        document["model"]["vocab"].get_array().get(entries) != simdjson::SUCCESS) {
      vocab.Fail(RANKFEED_E_PARSE, "cannot be read");
    }
    // The strings come from the complete parse: the lazy one writes them to a buffer whose
    // allocation simdjson 3.0.1 does not check.
    simdjson::dom::array::iterator strings = vocab.ArrayBegin();
    for (auto entry : entries) {
      const size_t i = spec_.pieces.size();
      if (i >= kMaxPieces) {
        vocab.Fail(RANKFEED_E_LIMIT, "has more than " + std::to_string(kMaxPieces) + " pieces");
      }
      spec_.pieces.push_back(VocabEntry(entry, *strings, i));
      ++strings;
    }
    if (spec_.pieces.empty()) vocab.Fail(RANKFEED_E_PARSE, "is empty");
    spec_.id_count = Size32(spec_.pieces);
    spec_.id_map.resize(spec_.id_count);
    for (uint32_t i = 0; i < spec_.id_count; ++i) spec_.id_map[i] = i;
    IndexPieces();
    if (const auto unk = settings.Find("unk_id")) {
      spec_.unk_id = unk->U32();
      if (spec_.unk_id >= spec_.pieces.size()) {
        unk->Fail(RANKFEED_E_PARSE, "is not the index of a piece");
      }
      spec_.pieces[spec_.unk_id].type = PieceType::kUnknown;
      spec_.unk_piece = spec_.pieces[spec_.unk_id].text;
    }
    if (const auto fallback = settings.Find("byte_fallback"); fallback && fallback->Bool()) {
      spec_.flags |= image::kByteFallback;
    }
  }

  PieceSpec VocabEntry(simdjson::simdjson_result<simdjson::ondemand::value> entry,
                       simdjson::dom::element parsed, size_t i) {
    simdjson::ondemand::value value;
    if (entry.get(value) != simdjson::SUCCESS) FailVocab(i, RANKFEED_E_PARSE, "cannot be read");
    vocab_at_ = static_cast<uint64_t>(value.raw_json_token().data() - source_.text.data());
    simdjson::dom::array pair;
    simdjson::ondemand::array tokens;
    if (parsed.get(pair) != simdjson::SUCCESS ||
        value.get_array().get(tokens) != simdjson::SUCCESS) {
      FailVocab(i, RANKFEED_E_PARSE, "must be an array");
    }
    if (pair.size() != 2) FailVocab(i, RANKFEED_E_PARSE, "must be [piece, score]");
    std::string_view text;
    if (pair.at(0).get(text) != simdjson::SUCCESS) {
      FailVocab(i, RANKFEED_E_PARSE, "must begin with a string");
    }
    if (!pair.at(1).is_number()) {
      FailVocab(i, RANKFEED_E_PARSE, "must have a number as its score");
    }
    if (text.size() > kMaxStringBytes) {
      FailVocab(i, RANKFEED_E_LIMIT,
                OverLimit(std::to_string(text.size()) + " bytes", "a piece", kMaxStringBytes));
    }
    PieceSpec piece;
    piece.text = text;
    std::string_view digits;
    for (auto token : tokens) {
      simdjson::ondemand::value item;
      if (token.get(item) != simdjson::SUCCESS) FailVocab(i, RANKFEED_E_PARSE, "cannot be read");
      digits = item.raw_json_token();  // of the last: the score
    }
    if (!ParseSerdeNumber(digits, &piece.score)) {
      FailVocab(i, RANKFEED_E_PARSE, "has a score out of range");
    }
    return piece;
  }

  std::vector<AddedTokenSpec> ReadAddedTokens(const Json& list) const {
    std::vector<AddedTokenSpec> out;
    std::unordered_map<std::string, uint32_t> flags_of;
    list.Each([&](const Json& item) {
      AddedTokenSpec token;
      item.At("id").U32();
      token.content = item.At("content").ShortString("an added token");
      const auto flag = [&](const char* key, image::AddedFlags bit) {
        if (item.At(key).Bool()) token.flags |= bit;
      };
      flag("single_word", image::kSingleWord);
      flag("lstrip", image::kLstrip);
      flag("rstrip", image::kRstrip);
      flag("normalized", image::kNormalized);
      flag("special", image::kSpecial);
      if (token.content.empty()) return;  // ignored there too
      if (const auto [it, inserted] = flags_of.emplace(token.content, token.flags); !inserted) {
        if (it->second == token.flags) return;
        item.Fail(RANKFEED_E_UNSUPPORTED, "repeats \"" + token.content + "\" with other flags");
      }
      out.push_back(std::move(token));
    });
    return out;
  }

  // The added tokens of the file, changed by the files beside it.
  std::vector<AddedTokenSpec> WithThoseBeside(std::vector<AddedTokenSpec> own) {
    using Added = FileChanges::Added;
    std::unordered_map<std::string_view, size_t> beside, places;
    for (size_t i = 0; i < changes_.added_tokens.size(); ++i) beside.emplace(changes_.added_tokens[i].content, i);
    std::vector<AddedTokenSpec> all;
    for (const AddedTokenSpec& token : own) {
      const auto found = beside.find(token.content);
      if (found == beside.end() && changes_.added == Added::kMustBeListed) RefuseUnlisted(token.content);
      if (changes_.added == Added::kInstead) continue;
      all.push_back(token);
      places.emplace(token.content, all.size() - 1);
      if (found != beside.end() && found->second < changes_.listed) all.back().flags = changes_.added_tokens[found->second].flags;
    }
    for (const TokenBeside& token : changes_.added_tokens) {
      if (places.emplace(token.content, all.size()).second) all.push_back(token);
    }
    CheckTokensBeside(own);
    const auto is_same = [](const AddedTokenSpec& a, const AddedTokenSpec& b) { return a.content == b.content && a.flags == b.flags; };
    if (!std::equal(own.begin(), own.end(), all.begin(), all.end(), is_same)) {
      spec_.changes += "\nadded tokens";
      for (const AddedTokenSpec& token : all) spec_.changes += "\n" + std::to_string(token.flags) + " " + token.content;
    }
    return all;
  }

  void Note(const std::string& sentence) { note_ += (note_.empty() ? "" : "; ") + sentence; }

  // Refuses a token that a file beside names and this one has not, which transformers would add; notes one that is found otherwise
  // than by the file alone.
  void CheckTokensBeside(const std::vector<AddedTokenSpec>& own) {
    constexpr uint32_t kLookedFor = image::kSingleWord | image::kLstrip | image::kRstrip | image::kNormalized;
    const std::string folder = source_.name.substr(0, source_.name.find_last_of("/\\"));
    std::unordered_map<std::string_view, uint32_t> flags_of;
    for (const AddedTokenSpec& token : own) flags_of.emplace(token.content, token.flags);
    for (size_t i = 0; i < changes_.added_tokens.size(); ++i) {
      const TokenBeside& token = changes_.added_tokens[i];
      if (const auto found = flags_of.find(token.content); found != flags_of.end()) {
        if (i >= changes_.listed || ((found->second ^ token.flags) & kLookedFor) == 0) continue;
        Note("the token " + token.content + " has other settings in the tokenizer_config.json of " + folder +
             " than in its tokenizer.json; the folder has the former, the file by itself the latter. " + kAdvice);
      } else if (!token.of_class && piece_ids_.contains(token.content)) {
        Note(folder + " names the token " + token.content + " beside its tokenizer.json, where it is an ordinary piece; transformers, and the folder, " +
             "look for it in texts. " + kAdvice);
      } else if (!token.of_class) {
        throw BuildError(RANKFEED_E_VOCABULARY, folder, " has the token ", token.content,
                         " beside its tokenizer.json, which lacks it; transformers would add it. ", kAdvice);
      }
    }
  }

  [[noreturn]] void RefuseUnlisted(const std::string& token) const {
    throw BuildError(RANKFEED_E_UNSUPPORTED,
                     source_.name, ": has the added token ", token, ", which the tokenizer_config.json beside it does not list, so that ",
                     changes_.class_name, " of transformers may take it for text. ", kAdvice);
  }

  // AddedVocabulary::add_tokens: a content of the model keeps the model's id, any other gets the
  // next number from the count of pieces on; the id written in the file is ignored.
  void NumberAddedTokens(std::vector<AddedTokenSpec> tokens) {
    std::unordered_map<uint32_t, size_t> by_id;  // places in the list
    uint32_t next = Size32(spec_.pieces);
    for (AddedTokenSpec& token : tokens) {
      const auto known = piece_ids_.find(token.content);
      token.id = known != piece_ids_.end() ? known->second : next++;
      // A later token takes the id of an earlier one, which is not looked for any more: where ids
      // have holes, the count of pieces can be the id of one.
      const auto [place, is_new] = by_id.emplace(token.id, spec_.added_tokens.size());
      if (is_new) spec_.added_tokens.emplace_back();
      spec_.added_tokens[place->second] = std::move(token);
    }
    spec_.id_count = std::max(spec_.id_count, next);
  }

  // Returns the id of an added token or of a piece; kNoId where there is none of that text.
  uint32_t IdOf(const std::string& text) const {
    for (const AddedTokenSpec& token : spec_.added_tokens) {
      if (token.content == text) return token.id;
    }
    const auto known = piece_ids_.find(text);
    return known == piece_ids_.end() ? image::kNoId : known->second;
  }

  // A class that rebuilds the file puts its own tokens around rows and in the place of unknown words.
  void CheckEnds() const {
    if (!changes_.unk_token.empty() && spec_.wordpiece() && changes_.unk_token != spec_.unk_piece) {
      throw BuildError(RANKFEED_E_UNSUPPORTED,
                       source_.name, ": the files beside it name ", changes_.unk_token, " as unk_token, which ", changes_.class_name,
                       " of transformers gives for unknown words, where the model has ", spec_.unk_piece, ". ", kAdvice);
    }
    const auto& pair = spec_.template_pair;
    if (pair.empty() || pair.front().kind != TemplateKind::kSpecial || pair.back().kind != TemplateKind::kSpecial) return;
    for (const auto& [name, token, id] : {std::tuple("cls_token", &changes_.cls_token, pair.front().id),
                                          std::tuple("sep_token", &changes_.sep_token, pair.back().id)}) {
      const uint32_t own = token->empty() ? id : IdOf(*token);
      if (own == id || own == image::kNoId) continue;  // a token that is not there is refused where it is named
      throw BuildError(RANKFEED_E_UNSUPPORTED,
                       source_.name, ": the files beside it name ", *token, " as ", name, ", and ", changes_.class_name,
                       " of transformers puts it around rows, where the post_processor has the id ", id, ". ", kAdvice);
    }
  }

  uint32_t TemplateId(const Json& value) {
    const uint32_t id = value.U32();
    if (id >= spec_.id_count) {
      value.Fail(RANKFEED_E_UNSUPPORTED, std::to_string(id) + " is not an id of this file (" +
                                             std::to_string(spec_.id_count) + " ids)");
    }
    return id;
  }

  void PostProcessor(const std::optional<Json>& value) {
    if (!value) {
      if (!has_template_) DefaultTemplate();
      return;
    }
    const std::string type = value->At("type").String();
    if (type == "Sequence") {
      value->At("processors").Each([&](const Json& item) { PostProcessor(item); });
      if (!has_template_) DefaultTemplate();
      return;
    }
    if (type == "ByteLevel") {  // only trims offsets
      if (has_template_) {
        value->Fail(RANKFEED_E_UNSUPPORTED, "is supported before a template");
      }
      if (value->At("trim_offsets").Bool()) spec_.flags |= image::kTrimOffsets;
      if (value->At("add_prefix_space").Bool()) spec_.flags |= image::kTrimKeepsPrefix;
      DefaultTemplate();
      return;
    }
    if (has_template_) {
      value->Fail(RANKFEED_E_UNSUPPORTED, "is a second template; one per file is supported");
    }
    has_template_ = true;
    spec_.template_single.clear();
    spec_.template_pair.clear();
    spec_.flags |= image::kTemplateFromFile;
    if (type == "TemplateProcessing") {
      TemplateProcessing(*value);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      const bool roberta = type[0] == 'R';
      // The reference tells the two apart by their members, not by their type.
      const bool roberta_members = value->Find("trim_offsets") && value->Find("add_prefix_space");
      if (roberta != roberta_members) {
        value->Fail(RANKFEED_E_UNSUPPORTED,
                    roberta ? "lacks trim_offsets or add_prefix_space; tokenizers would run it as "
                              "BertProcessing"
                            : "has trim_offsets and add_prefix_space; tokenizers would run it as "
                              "RobertaProcessing");
      }
      ClsSep(*value, roberta);
      if (roberta && value->At("trim_offsets").Bool()) spec_.flags |= image::kTrimOffsets;
      if (roberta && value->At("add_prefix_space").Bool()) spec_.flags |= image::kTrimKeepsPrefix;
    } else {
      value->At("type").Fail(RANKFEED_E_UNSUPPORTED, "\"" + type + "\" is not supported");
    }
  }

  // default_process: both sequences one after the other, types 0 and 1.
  void DefaultTemplate() {
    spec_.template_single = {{TemplateKind::kSequenceA, 0, 0}};
    spec_.template_pair = {{TemplateKind::kSequenceA, 0, 0}, {TemplateKind::kSequenceB, 0, 1}};
  }

  // processors/bert.rs and roberta.rs.
  void ClsSep(const Json& value, bool roberta) {
    const auto id = [&](const char* key) {
      const Json pair = value.At(key);
      size_t count = 0;
      uint32_t of = 0;
      pair.Each([&](const Json& item) {
        if (count == 0) item.String();
        if (count == 1) of = TemplateId(item);
        ++count;
      });
      if (count != 2) pair.Fail(RANKFEED_E_PARSE, "must be [token, id]");
      return of;
    };
    const uint32_t sep = id("sep"), cls = id("cls");
    const uint32_t second = roberta ? 0 : 1;
    spec_.template_single = {{TemplateKind::kSpecial, cls, 0},
                             {TemplateKind::kSequenceA, 0, 0},
                             {TemplateKind::kSpecial, sep, 0}};
    spec_.template_pair = spec_.template_single;
    if (roberta) spec_.template_pair.push_back({TemplateKind::kSpecial, sep, 0});
    spec_.template_pair.push_back({TemplateKind::kSequenceB, 0, second});
    spec_.template_pair.push_back({TemplateKind::kSpecial, sep, second});
  }

  void TemplateProcessing(const Json& value) {
    std::unordered_map<std::string, std::vector<uint32_t>> specials;
    size_t id_count = 0;
    value.At("special_tokens").EachMember([&](std::string_view name, const Json& token) {
      token.At("tokens").ArrayBegin();  // must be an array
      std::vector<uint32_t> ids;
      const Json list = token.At("ids");
      list.Each([&](const Json& id) {
        if (++id_count > kMaxTemplateItems) {
          list.Fail(RANKFEED_E_LIMIT,
                    OverLimit("one id too many", "ids of special tokens", kMaxTemplateItems));
        }
        ids.push_back(TemplateId(id));
      });
      if (!specials.emplace(name, std::move(ids)).second)
        token.Fail(RANKFEED_E_PARSE, "is given twice");
    });
    Template(value.At("single"), specials, false, &spec_.template_single);
    Template(value.At("pair"), specials, true, &spec_.template_pair);
  }

  void Template(const Json& list,
                const std::unordered_map<std::string, std::vector<uint32_t>>& specials, bool pair,
                std::vector<TemplateItemSpec>* out) {
    int a = 0, b = 0;
    list.Each([&](const Json& item) {
      if (const auto sequence = item.Find("Sequence")) {
        const std::string id = sequence->At("id").String();
        const uint32_t type = sequence->At("type_id").U32();
        if (id != "A" && id != "B") sequence->Fail(RANKFEED_E_PARSE, "must be A or B");
        (id == "A" ? a : b) += 1;
        out->push_back({id == "A" ? TemplateKind::kSequenceA : TemplateKind::kSequenceB, 0, type});
      } else if (const auto special = item.Find("SpecialToken")) {
        const std::string name = special->At("id").String();
        const uint32_t type = special->At("type_id").U32();
        const auto ids = specials.find(name);
        if (ids == specials.end()) {
          special->Fail(RANKFEED_E_PARSE, "\"" + name + "\" is not in special_tokens");
        }
        for (const uint32_t id : ids->second) out->push_back({TemplateKind::kSpecial, id, type});
      } else {
        item.Fail(RANKFEED_E_PARSE, "must be a Sequence or a SpecialToken");
      }
      if (out->size() > kMaxTemplateItems) {
        item.Fail(RANKFEED_E_LIMIT,
                  OverLimit("one item too many", "a template's items", kMaxTemplateItems));
      }
    });
    if (a != 1 || b != (pair ? 1 : 0)) {
      list.Fail(RANKFEED_E_UNSUPPORTED,
                pair ? "must use A once and B once" : "must use A once and B not at all");
    }
  }

  void Truncation(const Json& value) {
    static constexpr std::pair<const char*, uint32_t> kStrategies[] = {
        {"LongestFirst", RANKFEED_TRUNCATE_LONGEST_FIRST},
        {"OnlyFirst", RANKFEED_TRUNCATE_ONLY_FIRST},
        {"OnlySecond", RANKFEED_TRUNCATE_ONLY_SECOND}};
    const Json strategy = value.At("strategy");
    const std::string name = strategy.String();
    for (const auto& [known, value_of] : kStrategies) {
      if (name == known) spec_.default_truncation = value_of;
    }
    if (spec_.default_truncation == 0) {
      strategy.Fail(RANKFEED_E_UNSUPPORTED, "\"" + name + "\" is not a known strategy");
    }
    spec_.default_max_length = value.At("max_length").U32();
    spec_.default_stride = value.At("stride").U32();
    if (Direction(value)) spec_.flags |= image::kTruncateLeft;
  }

  void Padding(const Json& value) {
    const Json strategy = value.At("strategy");
    if (strategy.is_string()) {
      if (strategy.String() != "BatchLongest") {
        strategy.Fail(RANKFEED_E_UNSUPPORTED,
                      "\"" + strategy.String() + "\" is not a known strategy");
      }
      spec_.default_padding = image::kPadLongest;
    } else {
      spec_.default_padding = strategy.At("Fixed").U32();
    }
    if (const auto multiple = value.Find("pad_to_multiple_of")) {
      spec_.default_pad_multiple = multiple->U32();
    }
    spec_.pad_id = TemplateId(value.At("pad_id"));
    spec_.pad_type_id = value.At("pad_type_id").U32();
    value.At("pad_token").String();
    if (Direction(value)) spec_.flags |= image::kPadLeft;
  }

  // True for "Left".
  static bool Direction(const Json& value) {
    const auto direction = value.Find("direction");
    if (!direction) return false;
    const std::string name = direction->String();
    if (name != "Left" && name != "Right") {
      direction->Fail(RANKFEED_E_PARSE, "must be \"Left\" or \"Right\"");
    }
    return name == "Left";
  }

  JsonSource source_;
  const FileChanges& changes_;
  simdjson::dom::parser parser_, rebuilt_parser_;
  JsonSource rebuilt_source_;
  std::optional<Json> rebuilt_;
  ModelSpec spec_;
  std::unordered_map<std::string_view, uint32_t> piece_ids_;  // into spec_.pieces
  uint64_t vocab_at_ = 0;
  bool has_template_ = false;
  std::string note_;
};

}  // namespace

ModelSpec ReadHuggingFace(std::string_view bytes, const std::string& source_name, const FileChanges& changes) {
  return Reader(bytes, source_name, changes).Run();
}

}  // namespace rankfeed::builder
