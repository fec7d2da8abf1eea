// SPDX-License-Identifier: MIT
// serve/dialect.cc: see dialect.h.
#include "serve/dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "serve/framing.h"

namespace rankfeed::serve {
namespace {

[[noreturn]] void Invalid(std::string message) {
  throw Problem{Kind::kInvalid, std::move(message)};
}

// The field, or null where it is missing or null.
const Json* Find(const Json& body, const char* name) {
  const auto found = body.find(name);
  return found == body.end() || found->is_null() ? nullptr : &*found;
}

const std::string& String(const Json& value, std::string_view name) {
  if (!value.is_string())
    Invalid(fmt::format("`{}` must be a string, not {}", name, value.type_name()));
  return value.get_ref<const std::string&>();
}

std::string RequiredString(const Json& body, const char* name) {
  const Json* const value = Find(body, name);
  if (value == nullptr) Invalid(fmt::format("missing field `{}`", name));
  return String(*value, name);
}

// Also takes "true" and "false" as texts, which clients in Python send and FastAPI's services read.
bool Flag(const Json& body, const char* name, bool fallback) {
  const Json* const value = Find(body, name);
  if (value == nullptr) return fallback;
  if (value->is_string() && SameWord(value->get_ref<const std::string&>(), "true")) return true;
  if (value->is_string() && SameWord(value->get_ref<const std::string&>(), "false")) return false;
  if (!value->is_boolean())
    Invalid(fmt::format("`{}` must be true or false, not {}", name, value->type_name()));
  return value->get<bool>();
}

uint32_t Count(const Json& body, const char* name, uint32_t least, uint32_t fallback) {
  const Json* const value = Find(body, name);
  if (value == nullptr) return fallback;
  // 3.0 is what Gson and Lua write of 3.
  const bool whole = value->is_number_float() && std::trunc(value->get<double>()) == value->get<double>();
  if (!value->is_number_integer() && !whole)
    Invalid(fmt::format("`{}` must be an integer, not {}", name,
                        value->is_number_float() ? value->dump() : value->type_name()));
  constexpr int64_t kMost = 1'000'000'000;
  const double size = value->get<double>();
  const int64_t number = size >= -1 && size <= double{kMost} ? static_cast<int64_t>(size) : kMost + 1;
  if (number < int64_t{least} || number > kMost) {
    Invalid(fmt::format("`{}` is {}; it may be {} to {}", name, value->dump(), least, kMost));
  }
  return static_cast<uint32_t>(number);
}

const Json& List(const Json& body, const char* name, const Options& options) {
  const Json* const value = Find(body, name);
  if (value == nullptr) Invalid(fmt::format("missing field `{}`", name));
  if (!value->is_array())
    Invalid(fmt::format("`{}` must be an array, not {}", name, value->type_name()));
  if (value->empty()) throw Problem{Kind::kEmpty, fmt::format("`{}` cannot be empty", name)};
  if (value->size() > options.max_documents) {
    throw Problem{Kind::kTooLarge, fmt::format("batch size {} > maximum allowed batch size {}",
                                               value->size(), options.max_documents)};
  }
  return *value;
}

// The text of a document's field; false for a missing one.
bool FieldText(const Json& document, size_t index, const std::string& field, std::string* out) {
  const Json* const value = Find(document, field.c_str());
  if (value == nullptr) return false;
  if (value->is_string()) {
    *out = value->get_ref<const std::string&>();
  } else if (value->is_number() || value->is_boolean()) {
    *out = value->dump();
  } else {
    Invalid(fmt::format("documents[{}].{} must be text, not {}", index, field, value->type_name()));
  }
  return true;
}

// A document's text: of one field as it is, of several as lines `field: text` in the order of
// rank_fields.
Document ParseDocument(const Json& item, size_t index, const std::vector<std::string>& fields) {
  Document out;
  if (item.is_string()) {
    out.text = item.get_ref<const std::string&>();
    out.has_text = true;
    return out;
  }
  if (!item.is_object()) {
    Invalid(fmt::format("documents[{}] must be a string or an object, not {}", index,
                        item.type_name()));
  }
  if (const Json* const id = Find(item, "id")) {
    if (id->is_string()) out.id = id->get_ref<const std::string&>();
    if (id->is_number_integer()) out.id = id->dump();  // 7 is the id "7", as in JSON Lines
  }
  for (const std::string& field : fields) {
    std::string text;
    if (!FieldText(item, index, field, &text)) continue;
    if (fields.size() == 1) {
      out.text = std::move(text);
    } else {
      out.text += fmt::format("{}{}: {}", out.text.empty() ? "" : "\n", field, text);
    }
    out.has_text = true;
  }
  if (!out.has_text && out.id.empty()) {
    Invalid(fmt::format("documents[{}] has no text: none of its fields is {}", index,
                        fmt::format("`{}`", fmt::join(fields, "`, `"))));
  }
  return out;
}

std::vector<std::string> RankFields(const Json& body) {
  const Json* const value = Find(body, "rank_fields");
  if (value == nullptr) return {"text"};
  if (!value->is_array() || value->empty())
    Invalid("`rank_fields` must be an array of names of fields");
  std::vector<std::string> out;
  for (const Json& name : *value) out.push_back(String(name, "rank_fields[]"));
  return out;
}

// A field that changes scores in some published dialect. A client sends what its own server reads, so every dialect reads
// all of them here. No other field changes a score, and all others are ignored.
struct Field {
  const char* name;
  void (*read)(const Json& body, const Field& field, Ranking* out);
  const char* of = nullptr;  // the servers that read one that is refused
};

void ReadSide(const Json& body, const Field& field, Ranking* out) {
  const std::string& side = String(*Find(body, field.name), field.name);
  const bool left = side == "Left" || side == "left";
  if (!left && side != "Right" && side != "right")
    Invalid(fmt::format("`{}` is {}; it may be Left or Right", field.name, Quoted(side)));
  out->policy.left = left;
}

void ReadTruncate(const Json& body, const Field& field, Ranking* out) {
  out->policy.truncate = Flag(body, field.name, true);
}

void ReadActivation(const Json& body, const Field& field, Ranking* out) {
  out->raw_scores |= !Flag(body, field.name, true);
}

void ReadRowTokens(const Json& body, const Field& field, Ranking* out) {
  if (*Find(body, field.name) != -1) out->policy.max_length = Count(body, field.name, kLeastRowTokens, 0);
}

// Takes what is done anyway.
template <bool kTaken>
void ReadOnly(const Json& body, const Field& field, Ranking*) {
  if (Flag(body, field.name, kTaken) != kTaken) Invalid(fmt::format("`{}` can only be {}", field.name, kTaken));
}

void Refuse(const Json&, const Field& field, Ranking*) {
  Invalid(fmt::format("`{}`, a field of {}, is not a field that this service honours", field.name, field.of));
}

constexpr Field kFields[] = {
    {"raw_scores", [](const Json& body, const Field& field, Ranking* out) { out->raw_scores |= Flag(body, field.name, false); }},
    {"use_activation", ReadActivation},
    {"activation", ReadActivation},
    {"truncate", ReadTruncate},
    {"truncation", ReadTruncate},
    {"truncation_direction", ReadSide},
    {"truncation_side", ReadSide},
    {"truncate_prompt_tokens", ReadRowTokens},
    {"max_tokens_per_query", [](const Json& body, const Field& field, Ranking* out) { out->policy.max_query_tokens = Count(body, field.name, 1, 0); }},
    {"max_tokens_per_doc", [](const Json& body, const Field& field, Ranking* out) { out->policy.max_tokens_per_doc = Count(body, field.name, 1, 0); }},
    {"max_chunks_per_doc", [](const Json& body, const Field& field, Ranking* out) { out->policy.max_chunks = std::min(Count(body, field.name, 1, 1), 1024u); }},
    {"prompt", [](const Json& body, const Field& field, Ranking* out) { out->prompt = String(*Find(body, field.name), field.name); }},
    {"prompt_name", [](const Json& body, const Field& field, Ranking* out) { out->prompt_name = String(*Find(body, field.name), field.name); }},
    {"add_special_tokens", ReadOnly<true>},
    {"return_embeddings", ReadOnly<false>},
    {"instruct", Refuse, "SGLang"},
    {"instruction", Refuse, "vLLM"},
    {"chat_template", Refuse, "vLLM"},
    {"chat_template_kwargs", Refuse, "vLLM"},
    {"score_template", Refuse, "vLLM"},
    {"mm_processor_kwargs", Refuse, "vLLM"},
    {"overlap_tokens", Refuse, "Jina"},
};

// cut: whether rows that are too long are cut where the body does not say.
void ParseFields(const Json& body, bool cut, Ranking* out) {
  out->policy.truncate = cut;
  for (const Field& field : kFields) {
    if (Find(body, field.name) != nullptr) field.read(body, field, out);
  }
}

void ParseTei(const Json& body, const Options& options, RerankCall* call) {
  Ranking& r = call->ranking;
  const Json& texts = List(body, "texts", options);
  for (size_t i = 0; i < texts.size(); ++i) {
    r.documents.push_back({String(texts[i], fmt::format("texts[{}]", i)), {}, true});
  }
  call->with_documents = Flag(body, "return_text", false);
}

void ParseDocuments(const Json& body, const Options& options, RerankCall* call) {
  Ranking& r = call->ranking;
  const Json& documents = List(body, "documents", options);
  const std::vector<std::string> fields = RankFields(body);
  for (size_t i = 0; i < documents.size(); ++i)
    r.documents.push_back(ParseDocument(documents[i], i, fields));
  call->with_documents = Flag(body, "return_documents", false);
  r.top_n = Count(body, "top_n", 1, 0);
}

// The document as an answer repeats it.
std::string Repeated(const RerankCall& call, uint32_t index) {
  const Json& item = call.body.root["documents"][index];
  const std::string text =
      item.is_object() ? std::string() : Quoted(call.ranking.documents[index].text);
  if (call.dialect == Dialect::kInfinity)
    return item.is_object() ? Quoted(call.ranking.documents[index].text) : text;
  if (!item.is_object()) return fmt::format("{{\"text\":{}}}", text);
  return item.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string TeiAnswer(const RerankCall& call) {
  std::string out = "[";
  for (const rankfeed_ranked& r : call.ranking.ranked) {
    out += fmt::format("{}{{\"index\":{}", out.size() == 1 ? "" : ",", r.index);
    if (call.with_documents) out += ",\"text\":" + Quoted(call.ranking.documents[r.index].text);
    out += fmt::format(",\"score\":{}}}", r.score);
  }
  return out += ']';
}

// The events of a parser as a tree, whose elements and depth it counts as it meets them.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(const Options& options, Json* root) : options_(options), place_(root) {}
  const std::string& error() const { return error_; }

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // never of text
  bool start_object(size_t) override { return Open(Json::value_t::object); }
  bool start_array(size_t) override { return Open(Json::value_t::array); }
  bool key(string_t& name) override {
    auto& object = open_.back()->get_ref<Json::object_t&>();
    if (object.size() == object.capacity()) {
      // A vector that grows copies its values, and then destroys them.
      Json::object_t grown;
      grown.reserve(2 * object.size() + 4);
      for (auto& [old, value] : object) grown.emplace_back(old, std::move(value));
      object.swap(grown);
    }
    place_ = &object[name];
    return true;
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    error_ = e.what();
    return false;
  }

 private:
  Json* Count() {
    if (++elements_ > options_.max_json_elements) {
      throw Problem{Kind::kTooLarge, fmt::format("the body's JSON has more than {} elements",
                                                 options_.max_json_elements)};
    }
    return !open_.empty() && open_.back()->is_array() ? &open_.back()->emplace_back() : place_;
  }
  template <class T>
  bool Put(T&& value) {
    *Count() = std::forward<T>(value);
    return true;
  }
  bool Open(Json::value_t type) {
    if (open_.size() >= options_.max_json_depth) {
      throw Problem{Kind::kTooLarge, fmt::format("the body's JSON is deeper than {} levels",
                                                 options_.max_json_depth)};
    }
    Json* const value = Count();
    *value = Json(type);
    open_.push_back(value);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  const Options& options_;
  Json* place_;               // of the next value, where it is no array's
  std::vector<Json*> open_;   // from the root to what the next value is in
  uint32_t elements_ = 0;
  std::string error_;
};

}  // namespace

void JsonTree::Empty(Json* value) noexcept {
  if (!value->is_structured()) return;
  for (Json& child : *value) Empty(&child);
  value->clear();
}

JsonTree ParseJson(std::string_view body, const Options& options) {
  JsonTree out;
  TreeBuilder builder(options, &out.root);
  if (!Json::sax_parse(body, &builder)) {
    const std::string_view what = builder.error();
    const size_t end = what.find("] ");  // of the library's own number of the error
    throw Problem{Kind::kMalformed, fmt::format("the body is not JSON: {}",
                                                end == what.npos ? what : what.substr(end + 2))};
  }
  if (!out.root.is_object())
    throw Problem{Kind::kMalformed,
                  fmt::format("the body is {}, not a JSON object", out.root.type_name())};
  return out;
}

// llama.cpp answers at four paths as at /rerank. LiteLLM's infinity provider sends what its vLLM provider sends and wants
// documents back as texts, which a body does not tell: its base address ends in /infinity.
constexpr Route kRoutes[] = {
    {"/rerank", Action::kRerank, Dialect::kTei},
    {"/reranking", Action::kRerank, Dialect::kTei},
    {"/v1/reranking", Action::kRerank, Dialect::kTei},
    {"/v1/rerank", Action::kRerank, Dialect::kCohereV1},
    {"/v2/rerank", Action::kRerank, Dialect::kCohereV2},
    {"/infinity/rerank", Action::kRerank, Dialect::kInfinity},
    {"/score", Action::kScore, Dialect::kVllm},
    {"/v1/score", Action::kScore, Dialect::kVllm},
    {"/predict", Action::kScore, Dialect::kTei},
    {"/tokenize", Action::kTokenize, Dialect::kTei},
    {"/decode", Action::kDecode, Dialect::kTei},
    {"/admin/reload", Action::kReload, Dialect::kTei},
    {"/v1/models", Action::kModels, Dialect::kVllm},
    {"/models", Action::kModels, Dialect::kVllm},
    {"/info", Action::kInfo, Dialect::kTei},
    {"/health", Action::kHealth, Dialect::kTei},
    {"/ping", Action::kHealth, Dialect::kTei},
    {"/metrics", Action::kMetrics, Dialect::kTei},
    {"/docs", Action::kDocument, Dialect::kTei},
    {"/openapi.json", Action::kDocument, Dialect::kTei},
    {"/", Action::kDocument, Dialect::kTei},
};

const Route* FindRoute(std::string_view path) {
  const auto found = std::find_if(std::begin(kRoutes), std::end(kRoutes), [&](const Route& r) { return r.path == path; });
  return found == std::end(kRoutes) ? nullptr : found;
}

Dialect DialectOf(std::string_view path) {
  const Route* const route = FindRoute(path);
  return route == nullptr ? Dialect::kTei : route->dialect;
}

bool IsRanked(std::string_view path) {
  const Route* const route = FindRoute(path);
  return route != nullptr && (route->action == Action::kRerank || route->action == Action::kScore);
}

void ParseRerank(const Route& route, JsonTree body, const Options& options, RerankCall* call) {
  call->dialect = route.dialect;
  call->body = std::move(body);
  const Json& b = call->body.root;
  const bool tei = route.dialect == Dialect::kTei && (b.contains("texts") || !b.contains("documents"));
  if (route.dialect == Dialect::kTei && !tei)
    call->dialect = b.contains("raw_scores") ? Dialect::kInfinity : Dialect::kJina;
  call->ranking.query = RequiredString(b, "query");
  ParseFields(b, !tei || options.auto_truncate, &call->ranking);
  const Json* const model = Find(b, "model");
  call->model = model == nullptr ? options.model_name : String(*model, "model");
  if (tei) {
    ParseTei(b, options, call);
  } else {
    ParseDocuments(b, options, call);
  }
}

std::string RerankAnswer(const RerankCall& call, std::string_view id) {
  if (call.dialect == Dialect::kTei) return TeiAnswer(call);
  const Ranking& r = call.ranking;
  std::string out = "{";
  if (call.dialect == Dialect::kInfinity) out += "\"object\":\"rerank\",";
  out += fmt::format("\"id\":\"{}\",\"model\":{},\"results\":[", id, Quoted(call.model));
  bool first = true;
  for (const rankfeed_ranked& ranked : r.ranked) {
    out += fmt::format("{}{{\"index\":{},\"relevance_score\":{}", first ? "" : ",", ranked.index, ranked.score);
    if (call.with_documents) out += ",\"document\":" + Repeated(call, ranked.index);
    out += '}';
    first = false;
  }
  out += fmt::format("],\"usage\":{{\"prompt_tokens\":{0},\"total_tokens\":{0}}}", r.tokens);
  if (call.dialect == Dialect::kInfinity) {
    out += fmt::format(",\"created\":{}", static_cast<int64_t>(std::time(nullptr)));
  } else if (call.dialect != Dialect::kJina) {
    out += fmt::format(
        ",\"meta\":{{\"api_version\":{{\"version\":\"{}\"}},\"billed_units\":{{\"search_units\":{}}"
        "},"
        "\"tokens\":{{\"input_tokens\":{},\"output_tokens\":0}}}}",
        call.dialect == Dialect::kCohereV1 ? 1 : 2, (r.billed_documents + 99) / 100, r.tokens);
  }
  return out += '}';
}

namespace {

// Adds a pair to the call's rankings; `like` has the fields of all of them.
void AddPair(std::string first, std::string second, const Ranking& like, std::vector<Ranking>* out) {
  if (out->empty() || out->back().query != first) {
    out->push_back(like);
    out->back().query = std::move(first);
  }
  out->back().documents.push_back({std::move(second), {}, true});
}

// Returns the texts of a field that is one text or a list of them.
std::vector<std::string> Texts(const Json& body, const char* name, const Options& options) {
  const Json* const value = Find(body, name);
  if (value != nullptr && value->is_string()) return {value->get<std::string>()};
  std::vector<std::string> out;
  const Json& list = List(body, name, options);
  for (size_t i = 0; i < list.size(); ++i) out.push_back(String(list[i], fmt::format("{}[{}]", name, i)));
  return out;
}

// Reads vLLM's pairs: each text of the first field with the one of the same number in the second, or one with all.
void ParseTextPairs(const Json& body, const Options& options, const Ranking& like, ScoreCall* call) {
  constexpr std::array<const char*, 2> kNames[] = {{"text_1", "text_2"}, {"data_1", "data_2"}, {"queries", "documents"}};
  const auto* names = std::begin(kNames);
  for (const auto& pair : kNames) {
    if (Find(body, pair[0]) != nullptr) names = &pair;
  }
  const std::vector<std::string> first = Texts(body, (*names)[0], options), second = Texts(body, (*names)[1], options);
  if (first.size() != 1 && first.size() != second.size()) {
    Invalid(fmt::format("`{}` has {} texts and `{}` {}: one goes with all of them, several each with its own",
                        (*names)[0], first.size(), (*names)[1], second.size()));
  }
  for (size_t i = 0; i < second.size(); ++i) AddPair(first[first.size() == 1 ? 0 : i], second[i], like, &call->rankings);
}

// Reads the inputs of /predict: a pair of texts, or a list of pairs. A classifier's single texts are refused.
void ParseInputs(const Json& body, const Options& options, const Ranking& like, ScoreCall* call) {
  const Json& inputs = List(body, "inputs", options);
  call->single = inputs.front().is_string();
  const auto add = [&](const Json& pair, const std::string& name) {
    if (!pair.is_array() || pair.size() != 2)
      Invalid(fmt::format("`{}` must be a pair of texts: this model scores pairs", name));
    AddPair(String(pair[0], name), String(pair[1], name), like, &call->rankings);
  };
  if (call->single) return add(inputs, "inputs");
  for (size_t i = 0; i < inputs.size(); ++i) add(inputs[i], fmt::format("inputs[{}]", i));
}

}  // namespace

ScoreCall ParseScore(const Route& route, const Json& body, const Options& options) {
  ScoreCall out;
  const Json* const model = Find(body, "model");
  out.model = model == nullptr ? options.model_name : String(*model, "model");
  Ranking like;
  ParseFields(body, route.dialect == Dialect::kVllm || options.auto_truncate, &like);
  if (route.dialect == Dialect::kVllm) {
    ParseTextPairs(body, options, like, &out);
  } else {
    ParseInputs(body, options, like, &out);
  }
  return out;
}

std::string ScoreAnswer(const Route& route, const ScoreCall& call, std::string_view id, std::string_view label) {
  const bool vllm = route.dialect == Dialect::kVllm;
  std::string out = vllm ? fmt::format("{{\"id\":\"{}\",\"object\":\"list\",\"created\":{},\"model\":{},\"data\":[", id,
                                       static_cast<int64_t>(std::time(nullptr)), Quoted(call.model))
                         : std::string(call.single ? "" : "[");
  uint64_t tokens = 0;
  size_t index = 0;
  for (const Ranking& r : call.rankings) {
    std::vector<float> scores(r.documents.size());
    for (const rankfeed_ranked& ranked : r.ranked) scores[ranked.index] = ranked.score;
    for (const float score : scores) {
      out += index == 0 ? "" : ",";
      out += vllm ? fmt::format("{{\"index\":{},\"object\":\"score\",\"score\":{}}}", index, score)
                  : fmt::format("[{{\"score\":{},\"label\":{}}}]", score, Quoted(label));
      ++index;
    }
    tokens += r.tokens;
  }
  if (vllm) return out += fmt::format("],\"usage\":{{\"prompt_tokens\":{0},\"total_tokens\":{0}}}}}", tokens);
  return out += call.single ? "" : "]";
}

TokenizeCall ParseTokenize(const Json& body, const Options& options) {
  TokenizeCall out;
  out.add_special_tokens = Flag(body, "add_special_tokens", true);
  if (const Json* const name = Find(body, "prompt_name")) out.prompt_name = String(*name, "prompt_name");
  const Json* const inputs = Find(body, "inputs");
  if (inputs != nullptr && inputs->is_string()) {
    out.inputs.push_back(inputs->get<std::string>());
    return out;
  }
  const Json& list = List(body, "inputs", options);
  for (size_t i = 0; i < list.size(); ++i)
    out.inputs.push_back(String(list[i], fmt::format("inputs[{}]", i)));
  return out;
}

std::string TokenizeAnswer(const std::vector<std::vector<Token>>& texts) {
  std::string out = "[";
  for (const auto& tokens : texts) {
    out += out.size() == 1 ? "[" : ",[";
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& t = tokens[i];
      const std::string place = t.special ? "\"start\":null,\"stop\":null"
                                          : fmt::format("\"start\":{},\"stop\":{}", t.begin, t.end);
      out += fmt::format("{}{{\"id\":{},\"text\":{},\"special\":{},{}}}", i == 0 ? "" : ",", t.id,
                         Quoted(t.text), t.special, place);
    }
    out += ']';
  }
  return out += ']';
}

DecodeCall ParseDecode(const Json& body, const Options& options) {
  DecodeCall out;
  out.skip_special_tokens = Flag(body, "skip_special_tokens", true);
  const auto ids = [](const Json& list) {
    std::vector<int32_t> row;
    for (const Json& id : list) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX) {
        Invalid(
            fmt::format("`ids` must be ids or lists of ids; one is {}", id.dump().substr(0, 40)));
      }
      row.push_back(id.get<int32_t>());
    }
    return row;
  };
  const Json* const value = Find(body, "ids");
  if (value == nullptr || !value->is_array())
    Invalid("`ids` must be an array of ids, or of arrays of ids");
  if (value->empty() || !value->front().is_array()) {
    out.ids.push_back(ids(*value));
    return out;
  }
  for (const Json& list : List(body, "ids", options)) {
    if (!list.is_array()) Invalid("`ids` must be an array of ids, or of arrays of ids");
    out.ids.push_back(ids(list));
  }
  return out;
}

}  // namespace rankfeed::serve
