// SPDX-License-Identifier: MIT
// Row templates through the C API and the C++ wrapper: what a template is refused for, and that the rows
// that a reranker makes of texts are those of the texts that the template says are tokenized.
#include "rankfeed/template.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "builder/byte_level.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/rerank.hpp"
#include "reference/hf_tiny.h"

namespace {

using rankfeed::RowTemplate;
using rankfeed::Text;

class TemplateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* const source = std::getenv("RANKFEED_SOURCE_DIR");
    ASSERT_NE(source, nullptr);
    auto loaded = rankfeed::Vocabulary::Load(std::string(source) + "/data/default.model");
    ASSERT_TRUE(loaded) << loaded.error().message;
    vocabulary_ = new rankfeed::Vocabulary(std::move(*loaded));
  }
  static void TearDownTestSuite() {
    delete vocabulary_;
    vocabulary_ = nullptr;
  }
  const rankfeed_model* model() const { return other_ != nullptr ? other_ : vocabulary_->model(); }

  // `<s>` | a query | A: query \n B: document, apart or not | an end
  std::vector<rankfeed_row_part> Parts(bool apart) const {
    std::vector<rankfeed_row_part> parts = {{RANKFEED_PART_SPECIAL, 0, Text("<s>")}, {RANKFEED_PART_APART, 0, {}},
                                            {RANKFEED_PART_TEXT, RANKFEED_PART_WITH_INSTRUCTION, Text("I: ")},
                                            {RANKFEED_PART_INSTRUCTION, RANKFEED_PART_WITH_INSTRUCTION, {}},
                                            {RANKFEED_PART_TEXT, 0, Text(" A: ")}, {RANKFEED_PART_QUERY, 0, {}}};
    if (apart) parts.push_back({RANKFEED_PART_APART, 0, {}});
    parts.push_back({RANKFEED_PART_TEXT, 0, Text(" B: ")});
    parts.push_back({RANKFEED_PART_DOCUMENT, 0, {}});
    parts.push_back({RANKFEED_PART_TEXT, 0, Text(" .")});
    parts.push_back({RANKFEED_PART_APART, 0, {}});
    parts.push_back({RANKFEED_PART_TEXT, 0, Text("the end")});
    return parts;
  }
  static rankfeed_row_template Row(const std::vector<rankfeed_row_part>& parts) {
    rankfeed_row_template row{};
    row.struct_size = sizeof(row);
    row.parts = parts.data();
    row.part_count = static_cast<uint32_t>(parts.size());
    row.truncation = RANKFEED_TRUNCATE_TEXT_END;
    return row;
  }
  std::vector<int32_t> Ids(const std::string& text) const {
    auto encoder = rankfeed::Encoder::Create(model(), 1 << 16);
    rankfeed::Encoding encoding;
    const rankfeed_encode_options options{sizeof(options), 0, {}};
    EXPECT_FALSE(encoder->Encode(text, options, &encoding));
    return encoding.input_ids;
  }
  // Rows without pads.
  std::vector<std::vector<int32_t>> Rows(const RowTemplate& row, const std::string& query,
                                         const std::vector<std::string>& documents, const std::string& instruction,
                                         uint32_t max_length) const {
    rankfeed_rerank_options options = rankfeed::RerankOptions();
    options.layout = RANKFEED_PACKED;
    options.tensors = RANKFEED_TENSOR_LAST_TOKENS;
    EXPECT_FALSE(row.Apply(&options, max_length));
    rankfeed_rerank_limits limits{};
    limits.max_documents = 1;
    limits.max_text_bytes = 1;
    auto reranker = rankfeed::Reranker::Create(model(), limits, options);
    EXPECT_TRUE(reranker) << reranker.error().message;
    std::vector<rankfeed_source> sources(documents.size());
    for (size_t i = 0; i < documents.size(); ++i) sources[i].text = Text(documents[i]);
    rankfeed_source question{};
    question.text = Text(query);
    EXPECT_FALSE(reranker->Begin(question, sources, nullptr, nullptr, instruction));
    std::vector<std::vector<int32_t>> rows;
    for (rankfeed_batch batch;;) {
      const rankfeed::Error error = reranker->Next(&batch);
      EXPECT_FALSE(error) << error.message;
      if (error || batch.rows == 0) break;
      const auto* ids = static_cast<const int32_t*>(batch.input_ids.data);
      const auto* ends = static_cast<const int32_t*>(batch.cu_seqlens.data);
      const auto* last = static_cast<const int32_t*>(batch.last_tokens.data);
      for (uint32_t i = 0; i < batch.rows; ++i) {
        rows.emplace_back(ids + ends[i], ids + ends[i + 1]);
        EXPECT_EQ(last[i], ends[i + 1] - 1);
      }
    }
    for (const rankfeed_status status : reranker->status()) EXPECT_EQ(status, RANKFEED_OK);
    return rows;
  }

  static rankfeed::Vocabulary* vocabulary_;
  const rankfeed_model* other_ = nullptr;  // in the place of its model
};
rankfeed::Vocabulary* TemplateTest::vocabulary_ = nullptr;

std::vector<int32_t> Sum(std::initializer_list<std::vector<int32_t>> parts) {
  std::vector<int32_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<int32_t> Begin(std::vector<int32_t> ids, size_t most) {
  if (ids.size() > most) ids.resize(most);
  return ids;
}

TEST_F(TemplateTest, RowsAreThoseOfTheTexts) {
  const std::vector<std::string> documents = {"", " ", "one", "a longer document, with more words", std::string(3000, 'x')};
  const std::vector<int32_t> special = {rankfeed_model_piece_to_id(model(), "<s>", 3)}, end = Ids("the end");
  for (const bool apart : {false, true}) {
    const auto parts = Parts(apart);
    auto row = RowTemplate::Compile(model(), Row(parts));
    ASSERT_TRUE(row) << row.error().message;
    EXPECT_EQ(row->info().query_is_joined, apart ? 0u : 1u);
    EXPECT_EQ(row->info().prefix_tokens, 1u);
    EXPECT_EQ(row->info().suffix_tokens, end.size());
    for (const std::string instruction : {"", "be brief"}) {
      for (const std::string query : {"", "what is it?"}) {
        for (const uint32_t max_length : {4096u, 12u, 7u}) {
          const auto rows = Rows(*row, query, documents, instruction, max_length);
          ASSERT_EQ(rows.size(), documents.size());
          const std::string first = (instruction.empty() ? "" : "I: " + instruction) + " A: " + query;
          const size_t room = max_length - 1 - end.size();
          for (size_t i = 0; i < documents.size(); ++i) {
            const std::string second = " B: " + documents[i] + " .";
            const auto body = apart ? Sum({Ids(first), Ids(second)}) : Ids(first + second);
            EXPECT_EQ(rows[i], Sum({special, Begin(body, room), end})) << apart << query << i << " " << max_length;
          }
        }
      }
    }
  }
}

TEST_F(TemplateTest, Refused) {
  const auto refused = [&](std::vector<rankfeed_row_part> parts, rankfeed_status status, const char* words) {
    const auto row = RowTemplate::Compile(model(), Row(parts));
    ASSERT_FALSE(row);
    EXPECT_EQ(row.error().status, status);
    EXPECT_NE(row.error().message.find(words), std::string::npos) << row.error().message;
  };
  const rankfeed_row_part document = {RANKFEED_PART_DOCUMENT, 0, {}}, query = {RANKFEED_PART_QUERY, 0, {}};
  refused({query}, RANKFEED_E_ARGUMENT, "the document once");
  refused({document, document}, RANKFEED_E_ARGUMENT, "the document once");
  refused({query, query, document}, RANKFEED_E_ARGUMENT, "at most once");
  refused({document, query}, RANKFEED_E_ARGUMENT, "come before the document");
  refused({{99, 0, {}}, document}, RANKFEED_E_ARGUMENT, "no part of this kind");
  refused({{RANKFEED_PART_TEXT, 0, {}}, document}, RANKFEED_E_ARGUMENT, "have a text");
  refused({{RANKFEED_PART_QUERY, 1, {}}, document}, RANKFEED_E_ARGUMENT, "can depend on there being one");
  refused({{RANKFEED_PART_SPECIAL, 0, Text("<|no|>")}, document}, RANKFEED_E_NOT_FOUND, "no such special token");
  // A control piece is no part of a text in SentencePiece's parity.
  refused({{RANKFEED_PART_SPECIAL, 0, Text("<s>")}, document}, RANKFEED_E_UNSUPPORTED, "must stand apart");
  refused({{RANKFEED_PART_INSTRUCTION, 0, {}}, {RANKFEED_PART_APART, 0, {}}, query, {RANKFEED_PART_APART, 0, {}}, document},
          RANKFEED_E_UNSUPPORTED, "must stand in one text");
  // A row has no place for a text after the document's that only some requests have.
  refused({query, {RANKFEED_PART_APART, 0, {}}, document, {RANKFEED_PART_APART, 0, {}},
           {RANKFEED_PART_TEXT, RANKFEED_PART_WITH_INSTRUCTION, Text("as told")}, {RANKFEED_PART_TEXT, 0, Text(" end")}},
          RANKFEED_E_UNSUPPORTED, "the same in all rows");
  EXPECT_EQ(RowTemplate::Preset(model(), "no-such").error().status, RANKFEED_E_NOT_FOUND);
}

// Rows with several documents need a vocabulary whose texts are cut after line feeds; rules and parts are the caller's.
TEST_F(TemplateTest, RefusedLists) {
  const rankfeed_row_part document = {RANKFEED_PART_DOCUMENT, 0, {}}, query = {RANKFEED_PART_QUERY, 0, {}},
                          each = {RANKFEED_PART_EACH, 0, {}}, end = {RANKFEED_PART_END, 0, {}},
                          count = {RANKFEED_PART_COUNT, 0, {}}, number = {RANKFEED_PART_NUMBER, 0, {}},
                          line = {RANKFEED_PART_TEXT, 0, Text("\nX")};
  const auto refused = [&](std::vector<rankfeed_row_part> parts, rankfeed_status status, const char* words) {
    const auto row = RowTemplate::Compile(model(), Row(parts));
    ASSERT_FALSE(row);
    EXPECT_EQ(row.error().status, status);
    EXPECT_NE(row.error().message.find(words), std::string::npos) << row.error().message;
  };
  refused({query, each, line, document, end, line}, RANKFEED_E_UNSUPPORTED, "every text may be cut (part 1)");
  refused({query, each, document, end, line}, RANKFEED_E_UNSUPPORTED, "every text may be cut (part 1)");
  refused({each, line, query, document, end, line}, RANKFEED_E_ARGUMENT, "has no query (part 2)");
  refused({number, each, line, document, end, line}, RANKFEED_E_ARGUMENT, "has a number (part 0)");
  refused({each, line, end, line, document}, RANKFEED_E_ARGUMENT, "in what is repeated (part 4)");
  refused({each, line, document}, RANKFEED_E_ARGUMENT, "one begin and one end");
  refused({count, document}, RANKFEED_E_ARGUMENT, "has a count and markers");
  refused({{RANKFEED_PART_SPECIAL, RANKFEED_PART_MARKER, Text("<s>")}, document}, RANKFEED_E_ARGUMENT, "has a count and markers");
  std::vector<rankfeed_row_part> markers(RANKFEED_TEMPLATE_MAX_MARKERS + 1, {RANKFEED_PART_SPECIAL, RANKFEED_PART_MARKER, Text("<s>")});
  markers.insert(markers.end(), {each, line, document, end, line});
  refused(markers, RANKFEED_E_ARGUMENT, "too many markers");
}

TEST_F(TemplateTest, Json) {
  const auto message = [&](const std::string& more) {
    auto row = rankfeed::ReadRowTemplate(model(), R"({"parts":[{"role":"document"}])" + more + "}", "t");
    return row ? "hash " + std::to_string(row->info().hash) : row.error().message;
  };
  EXPECT_EQ(message(R"(,"name":"n","source":"s","revision":"r","instruction":"i","pad":"<pad>","answers":["a"],"truncation":"none",
                      "max_length":7,"max_documents":1,"max_query_tokens":2,"max_document_tokens":3,"prefix_times":16,
                      "suffix_times":16,"query_quarters":4,"document_limit":true,"pad_to_multiple_of":255)"), "hash 0");
  EXPECT_EQ(message(R"(,"name":null,"answers":null,"truncation":null,"max_length":null,"prefix_times":null,"document_limit":null)"), "hash 0");
  const auto refused = [&](const std::string& more, const std::string& words) {
    EXPECT_NE(message("," + more).find(words), std::string::npos) << message("," + more);
  };
  refused(R"("part":1)", "is no member of a row template");
  refused(R"("pad":1)", "pad must be a string");
  refused(R"("max_length":-1)", "max_length");
  refused(R"("max_length":4294967296)", "max_length");
  refused(R"("max_length":1,"max_length":1)", "max_length");
  refused(R"("prefix_times":17)", "prefix_times is above 16");
  refused(R"("suffix_times":17)", "suffix_times is above 16");
  refused(R"("query_quarters":5)", "query_quarters is above 4");
  refused(R"("pad_to_multiple_of":256)", "pad_to_multiple_of is above 255");
  refused(R"("document_limit":1)", "document_limit must be");
  refused(R"("truncation":"all")", "must be one of none, longest_first, longest_first_slow, only_first, only_second, text_end");
  refused(R"("answers":["1","2","3","4","5","6","7","8","9"])", "answers has more than 8 texts");
  EXPECT_NE(RowTemplate::PresetNames().find("qwen3-reranker, "), std::string::npos);
}

// Ids of a document are no use, in a store either, where its text depends on there being an instruction.
TEST_F(TemplateTest, TextsThatDependOnTheInstruction) {
  const std::vector<rankfeed_row_part> parts = {{RANKFEED_PART_QUERY, 0, {}}, {RANKFEED_PART_APART, 0, {}},
                                                {RANKFEED_PART_TEXT, RANKFEED_PART_WITH_INSTRUCTION, Text("Note: ")},
                                                {RANKFEED_PART_DOCUMENT, 0, {}}};
  auto row = RowTemplate::Compile(model(), Row(parts));
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_EQ(row->info().query_is_joined, 1u);
  const std::vector<std::string> documents = {"one"};
  EXPECT_EQ(Rows(*row, "q", documents, "", 64)[0], Sum({Ids("q"), Ids("one")}));
  EXPECT_EQ(Rows(*row, "q", documents, "be brief", 64)[0], Sum({Ids("q"), Ids("Note: one")}));
}

// A query and a document are cut from each other where the pattern ends a split whatever they are: the line feeds of
// GPT-2's splits may belong to the query's white space, and two of Qwen's are one token.
TEST_F(TemplateTest, CutOnlyWhereTheIdsAreThoseOfTheWholeText) {
  const std::string qwen =
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
      R"([^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},)"
      R"("behavior":"Isolated","invert":false},)" + rankfeed::builder_test::ByteLevelSplit("false") + "]}";
  for (const bool is_qwen : {false, true}) {
    const std::string split = is_qwen ? qwen : rankfeed::builder_test::ByteLevelSplit();
    const rankfeed::hf_test::Engine engine(
        R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":)" + split +
        R"(,"post_processor":null,"decoder":null,"model":)" +
        rankfeed::builder_test::ByteLevelModel(",\"\u010a\u010a\":256", "\"\u010a \u010a\"") + "}");
    other_ = engine.model();
    for (const std::string literal : {"\nB: ", "\n\nB: ", " \n \n B: ", "\n\tB: "}) {
      auto row = RowTemplate::Compile(
          model(), Row({{RANKFEED_PART_QUERY, 0, {}}, {RANKFEED_PART_TEXT, 0, Text(literal)}, {RANKFEED_PART_DOCUMENT, 0, {}}}));
      ASSERT_TRUE(row) << row.error().message;
      EXPECT_EQ(row->info().query_is_joined, !is_qwen && literal[0] == '\n' && literal[1] != '\t' ? 1u : 0u) << literal;
      for (const std::string query : {"", "a?", "a \n", "a\n"}) {
        const std::vector<std::string> documents = {"", "b", "\n b"};
        const auto rows = Rows(*row, query, documents, "", 64);
        ASSERT_EQ(rows.size(), documents.size());
        for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], Ids(query + literal + documents[i])) << query << literal;
      }
    }
  }
}

// The query is cut to three quarters of a limit and never to nothing, as libraries of such models cut it.
TEST_F(TemplateTest, CutTheQueryToQuartersOfTheLimitInWholeTokens) {
  const auto parts = Parts(true);
  rankfeed_row_template row = Row(parts);
  row.query_quarters = 3, row.document_limit = 1;
  for (row.max_length = 1; row.max_length < 20; ++row.max_length) {
    auto made = RowTemplate::Compile(model(), row);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->info().max_query_tokens, std::max(1u, row.max_length * 3 / 4));
    EXPECT_EQ(made->info().max_tokens_per_doc, row.max_length);
  }
}

TEST_F(TemplateTest, IdsOfDocuments) {
  const std::vector<int32_t> ids = {5, 6, 7};
  rankfeed_source question{}, document{};
  question.text = Text("q");
  document.ids = ids.data();
  document.id_count = 3;
  for (const bool apart : {false, true}) {
    const auto parts = Parts(apart);
    auto row = RowTemplate::Compile(model(), Row(parts));
    ASSERT_TRUE(row);
    rankfeed_rerank_options options = rankfeed::RerankOptions();
    options.layout = RANKFEED_PACKED;
    ASSERT_FALSE(row->Apply(&options));
    rankfeed_rerank_limits limits{};
    limits.max_documents = 1;
    limits.max_text_bytes = 64;
    auto reranker = rankfeed::Reranker::Create(model(), limits, options);
    ASSERT_TRUE(reranker);
    ASSERT_FALSE(reranker->Begin(question, {&document, 1}));
    rankfeed_batch batch;
    ASSERT_FALSE(reranker->Next(&batch));
    EXPECT_EQ(batch.rows, apart ? 1u : 0u);  // joined to the query, a document has to be a text
    EXPECT_EQ(reranker->status()[0], apart ? RANKFEED_OK : RANKFEED_E_UNSUPPORTED);
  }
}

TEST_F(TemplateTest, Arguments) {
  rankfeed_row_template row{};
  EXPECT_EQ(rankfeed_template_preset(nullptr, &row), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_template_preset("qwen3-reranker", nullptr), RANKFEED_E_ARGUMENT);
  uint32_t count = 0;
  while (const char* name = rankfeed_template_preset_name(count)) {
    ++count;
    ASSERT_EQ(rankfeed_template_preset(name, &row), RANKFEED_OK);
    EXPECT_STREQ(row.name.data, name);
    EXPECT_NE(row.source.size, 0u);
    EXPECT_NE(row.revision.size, 0u);
  }
  EXPECT_GE(count, 6u);
  rankfeed_mem_req need{};
  EXPECT_EQ(rankfeed_template_mem_req(nullptr, &row, &need), RANKFEED_E_ARGUMENT);
  row.struct_size = 1;
  EXPECT_EQ(rankfeed_template_mem_req(model(), &row, &need), RANKFEED_E_STRUCT_SIZE);
  const auto parts = Parts(true);
  row = Row(parts);
  ASSERT_EQ(rankfeed_template_mem_req(model(), &row, &need), RANKFEED_OK);
  rankfeed::AlignedBytes storage(need);
  auto encoder = rankfeed::Encoder::Create(model(), 256);
  rankfeed_template* made = nullptr;
  auto* const place = static_cast<char*>(storage.data());
  const auto init = [&](char* at, size_t size) {
    return rankfeed_template_init(model(), &row, encoder->get(), at, size, &made, nullptr, nullptr);
  };
  EXPECT_EQ(init(place + 1, need.size), RANKFEED_E_ALIGNMENT);
  EXPECT_EQ(init(place, need.size - 1), RANKFEED_E_WORKSPACE_SIZE);
  EXPECT_EQ(init(nullptr, need.size), RANKFEED_E_ARGUMENT);
  const rankfeed_text nowhere = {nullptr, 3};
  row.answers = &nowhere;
  row.answer_count = 1;
  EXPECT_EQ(init(place, need.size), RANKFEED_E_ARGUMENT);
  row.answers = nullptr;
  row.answer_count = 0;
  ASSERT_EQ(init(place, need.size), RANKFEED_OK);
  char text[64];
  size_t size = 0, begin = 0;
  EXPECT_EQ(rankfeed_template_query(made, Text("q"), {}, text, 2, &size), RANKFEED_E_OUTPUT_SIZE);
  EXPECT_EQ(size, 5u);
  ASSERT_EQ(rankfeed_template_document(made, {}, {}, Text("d"), text, sizeof(text), &size, &begin), RANKFEED_OK);
  EXPECT_EQ(std::string(text, size), " B: d .");
  EXPECT_EQ(begin, 4u);
  rankfeed_template_info info{};
  EXPECT_EQ(rankfeed_template_get_info(made, &info), RANKFEED_E_STRUCT_SIZE);
}

}  // namespace
