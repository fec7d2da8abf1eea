// SPDX-License-Identifier: MIT
// rerank/templates/presets.cc: the constructions, as facts: which texts are tokenized together, which limits there
// are and what they count. The source of each is in its row.
#include "rerank/templates/row_template.h"

namespace rankfeed::templates {
namespace {

constexpr uint32_t kGiven = RANKFEED_PART_WITH_INSTRUCTION, kMarker = RANKFEED_PART_MARKER;
constexpr rankfeed_text T(std::string_view text) {
  return {text.data(), text.size()};
}
constexpr rankfeed_row_part Text(std::string_view text, uint32_t flags = 0) {
  return {RANKFEED_PART_TEXT, flags, T(text)};
}
constexpr rankfeed_row_part Special(std::string_view name, uint32_t flags = 0) {
  return {RANKFEED_PART_SPECIAL, flags, T(name)};
}
constexpr rankfeed_row_part kApart = {RANKFEED_PART_APART, 0, {}};
constexpr rankfeed_row_part kQuery = {RANKFEED_PART_QUERY, 0, {}};
constexpr rankfeed_row_part kDocument = {RANKFEED_PART_DOCUMENT, 0, {}};
constexpr rankfeed_row_part kInstruction = {RANKFEED_PART_INSTRUCTION, 0, {}};
constexpr rankfeed_row_part kGivenInstruction = {RANKFEED_PART_INSTRUCTION, kGiven, {}};

constexpr rankfeed_row_part kStart = Special("<|im_start|>"), kEnd = Special("<|im_end|>");

// ---- Qwen3-Reranker: prefix, body and suffix are tokenized apart, and the body's end is cut --------

constexpr const char* kJudge =
    "system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note "
    "that the answer can only be \"yes\" or \"no\".";
constexpr rankfeed_text kYesNo[] = {T("no"), T("yes")};
constexpr rankfeed_row_part kQwen3[] = {
    kStart, Text(kJudge), kEnd, Text("\n"), kStart, Text("user\n"), kApart,
    Text("<Instruct>: "), kInstruction, Text("\n<Query>: "), kQuery, Text("\n<Document>: "), kDocument, kApart,
    kEnd, Text("\n"), kStart, Text("assistant\n"), Special("<think>"), Text("\n\n"), Special("</think>"), Text("\n\n")};
// The chat of the same page's other example, which ends the user's turn and then adds the suffix, whose
// first token ends it once more.
constexpr rankfeed_row_part kQwen3Chat[] = {
    kStart, Text(kJudge), kEnd, Text("\n"), kStart, Text("user\n<Instruct>: "), kInstruction,
    Text("\n\n<Query>: "), kQuery, Text("\n\n<Document>: "), kDocument, kEnd, Text("\n"), kApart,
    kEnd, Text("\n"), kStart, Text("assistant\n"), Special("<think>"), Text("\n\n"), Special("</think>"), Text("\n\n")};

// ---- mxbai-rerank-v2 ------------------------------------------------------------------------------

constexpr const char* kExpertAfter =
    "\nYou are a search relevance expert who evaluates how well documents match search queries. For each query-document "
    "pair, carefully analyze the semantic relationship between them, then provide your binary relevance judgment (0 for "
    "not relevant, 1 for relevant).\nRelevance:";
constexpr const char* kExpert = kExpertAfter + 1;  // without the line feed
constexpr const char* kAssistant = "system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
constexpr rankfeed_text kZeroOne[] = {T("0"), T("1")};
constexpr rankfeed_row_part kMxbai[] = {
    kStart, Text(kAssistant), kEnd, Text("\n"), kStart, Text("user\n"), kApart,
    Text("instruction: ", kGiven), kGivenInstruction, Text("\n", kGiven), Text("query: "), kQuery, kApart,
    Text("\n"), kApart, Text("document: "), kDocument, kApart,
    Text("\n"), kApart, Text(kExpert), kApart, kEnd, Text("\n"), kStart, Text("assistant\n")};
constexpr rankfeed_row_part kMxbaiJoined[] = {
    kStart, Text(kAssistant), kEnd, Text("\n"), kStart, Text("user\n"),
    Text("instruction: ", kGiven), kGivenInstruction, Text("\n", kGiven), Text("query: "), kQuery,
    Text("\ndocument: "), kDocument, Text(kExpertAfter), kEnd, Text("\n"), kStart, Text("assistant\n")};

// ---- bge-reranker-v2-gemma: parts apart; the limit counts a separator and the prompt, which follow once
// more after the cut -----------------------------------------------------------------------------------

constexpr rankfeed_text kYes[] = {T("Yes")};
constexpr rankfeed_row_part kBgeGemma[] = {
    Special("<bos>"), kApart, Text("A: "), kQuery, kApart, Text("\n"), kApart, Text("B: "), kDocument, kApart,
    Text("\n"), kApart,
    Text("Given a query A and a passage B, determine whether the passage contains an answer to the query by providing a "
         "prediction of either 'Yes' or 'No'.")};

// ---- llama-nemotron-rerank: one text; the tokenizer's own template puts the first token before it ------

constexpr rankfeed_row_part kNemotron[] = {Special("<|begin_of_text|>"), kApart, Text("question:"), kQuery,
                                           Text(" \n \n passage:"), kDocument};

// ---- jina-reranker-v3: one text for many documents; its library tokenizes texts, cuts them, and decodes them,
// before it puts them in ----------------------------------------------------------------------------------

constexpr const char* kRanking =
    "system\nYou are a search relevance expert who can determine a ranking of the passages based on how relevant they are to "
    "the query. If the query is a question, how relevant a passage is depends on how well it answers the question. If not, "
    "try to analyze the intent of the query and assess how well each passage satisfies the intent. If an instruction is "
    "provided, you should follow the instruction when determining the ranking.";
constexpr rankfeed_row_part kJina3[] = {
    kStart, Text(kRanking), kEnd, Text("\n"), kStart, Text("user\nI will provide you with "), {RANKFEED_PART_COUNT, 0, {}},
    Text(" passages, each indicated by a numerical identifier. Rank the passages based on their relevance to query: "), kQuery,
    Text("\n<instruct>\n", kGiven), kGivenInstruction, Text("\n</instruct>", kGiven),
    {RANKFEED_PART_EACH, 0, {}}, Text("\n<passage id=\""), {RANKFEED_PART_NUMBER, 0, {}}, Text("\">\n"), kDocument,
    Special("<|embed_token|>", kMarker), Text("\n</passage>"), {RANKFEED_PART_END, 0, {}},
    Text("\n<query>\n"), kQuery, Special("<|rerank_token|>", kMarker), Text("\n</query>"), kEnd, Text("\n"), kStart,
    Text("assistant\n"), Special("<think>"), Text("\n\n"), Special("</think>"), Text("\n\n")};

// A preset: the fields that say how it is cut and padded, with its parts and where they come from.
template <size_t n>
constexpr rankfeed_row_template Row(const char* name, const char* source, const char* revision,
                                    const rankfeed_row_part (&parts)[n], rankfeed_row_template row) {
  row.struct_size = sizeof(row);
  row.part_count = n;
  row.parts = parts;
  row.name = T(name);
  row.source = T(source);
  row.revision = T(revision);
  return row;
}

constexpr rankfeed_text kTask = T("Given a web search query, retrieve relevant passages that answer the query");
constexpr rankfeed_text kQwenPad = T("<|endoftext|>");
constexpr uint8_t kTextEnd = RANKFEED_TRUNCATE_TEXT_END;
// Libraries that cut the query to three quarters and the document to all of a limit that does not count
// what stands around them have query_quarters, document_limit and what it does not count.
constexpr rankfeed_row_template kPresets[] = {
    Row("qwen3-reranker", "QwenLM/Qwen3-Embedding, README.md and examples/qwen3_reranker_transformers.py", "f4ad0c4", kQwen3,
        {.instruction = kTask, .pad = kQwenPad, .answers = kYesNo, .answer_count = 2, .max_length = 8192, .truncation = kTextEnd}),
    Row("qwen3-reranker-chat", "QwenLM/Qwen3-Embedding, README.md, the example with vLLM", "f4ad0c4", kQwen3Chat,
        {.instruction = kTask, .pad = kQwenPad, .answers = kYesNo, .answer_count = 2, .max_length = 8192, .truncation = kTextEnd}),
    Row("mxbai-rerank-v2", "mixedbread-ai/mxbai-rerank, mxbai_rerank/mxbai_rerank_v2.py", "8e709dc", kMxbai,
        {.pad = kQwenPad, .answers = kZeroOne, .answer_count = 2, .max_length = 8192, .prefix_times = 1, .suffix_times = 1,
         .query_quarters = 3, .document_limit = 1, .truncation = RANKFEED_TRUNCATE_ONLY_SECOND, .pad_to_multiple_of = 8}),
    Row("mxbai-rerank-v2-joined", "vllm-project/vllm, examples/pooling/score/template/mxbai_rerank_v2.jinja", "c215d1e", kMxbaiJoined,
        {.pad = kQwenPad, .answers = kZeroOne, .answer_count = 2, .max_length = 8192, .truncation = kTextEnd}),
    Row("bge-reranker-v2-gemma", "FlagOpen/FlagEmbedding, FlagEmbedding/inference/reranker/decoder_only/base.py", "1.4.2", kBgeGemma,
        {.pad = T("<pad>"), .answers = kYes, .answer_count = 1, .max_length = 512, .suffix_times = 2, .query_quarters = 3,
         .document_limit = 1, .truncation = RANKFEED_TRUNCATE_ONLY_SECOND, .pad_to_multiple_of = 8}),
    Row("llama-nemotron-rerank", "vllm-project/vllm, examples/pooling/score/template/nemotron-rerank.jinja", "42fa4c0", kNemotron,
        {.max_length = 8192, .truncation = kTextEnd}),
    Row("jina-reranker-v3", "jinaai/jina-reranker-v3, modeling.py", "2025-10", kJina3,
        {.pad = kQwenPad, .max_length = 131072, .max_documents = 125, .max_query_tokens = 512, .max_document_tokens = 2048})};

}  // namespace

std::span<const rankfeed_row_template> Presets() {
  return kPresets;
}

}  // namespace rankfeed::templates
