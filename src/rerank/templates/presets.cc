// SPDX-License-Identifier: MIT
// rerank/templates/presets.cc: the constructions, as facts: which texts are tokenized together, which limits there
// are and what they count. The source of each is in its row.
#include "rerank/templates/presets.h"

#include <cstring>

namespace rankfeed::templates {
namespace {

constexpr rankfeed_text T(const char* text) {
  size_t size = 0;
  while (text[size] != '\0') ++size;
  return {text, size};
}
constexpr rankfeed_row_part Text(const char* text) {
  return {RANKFEED_PART_TEXT, 0, T(text)};
}
constexpr rankfeed_row_part Special(const char* name) {
  return {RANKFEED_PART_SPECIAL, 0, T(name)};
}
constexpr rankfeed_row_part WithInstruction(const char* text) {
  return {RANKFEED_PART_TEXT, RANKFEED_PART_WITH_INSTRUCTION, T(text)};
}
constexpr rankfeed_row_part kApart = {RANKFEED_PART_APART, 0, {}};
constexpr rankfeed_row_part kQuery = {RANKFEED_PART_QUERY, 0, {}};
constexpr rankfeed_row_part kDocument = {RANKFEED_PART_DOCUMENT, 0, {}};
constexpr rankfeed_row_part kInstruction = {RANKFEED_PART_INSTRUCTION, 0, {}};
constexpr rankfeed_row_part kGivenInstruction = {RANKFEED_PART_INSTRUCTION, RANKFEED_PART_WITH_INSTRUCTION, {}};

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

constexpr const char* kExpert =
    "You are a search relevance expert who evaluates how well documents match search queries. For each query-document "
    "pair, carefully analyze the semantic relationship between them, then provide your binary relevance judgment (0 for "
    "not relevant, 1 for relevant).\nRelevance:";
constexpr const char* kAssistant = "system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
constexpr rankfeed_text kZeroOne[] = {T("0"), T("1")};
constexpr rankfeed_row_part kMxbai[] = {
    kStart, Text(kAssistant), kEnd, Text("\n"), kStart, Text("user\n"), kApart,
    WithInstruction("instruction: "), kGivenInstruction, WithInstruction("\n"), Text("query: "), kQuery, kApart,
    Text("\n"), kApart, Text("document: "), kDocument, kApart,
    Text("\n"), kApart, Text(kExpert), kApart, kEnd, Text("\n"), kStart, Text("assistant\n")};
constexpr const char* kExpertAfter =
    "\nYou are a search relevance expert who evaluates how well documents match search queries. For each query-document "
    "pair, carefully analyze the semantic relationship between them, then provide your binary relevance judgment (0 for "
    "not relevant, 1 for relevant).\nRelevance:";
constexpr rankfeed_row_part kMxbaiJoined[] = {
    kStart, Text(kAssistant), kEnd, Text("\n"), kStart, Text("user\n"),
    WithInstruction("instruction: "), kGivenInstruction, WithInstruction("\n"), Text("query: "), kQuery,
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
constexpr rankfeed_row_part Marker(const char* name) {
  return {RANKFEED_PART_SPECIAL, RANKFEED_PART_MARKER, T(name)};
}
constexpr rankfeed_row_part kJina3[] = {
    kStart, Text(kRanking), kEnd, Text("\n"), kStart, Text("user\nI will provide you with "), {RANKFEED_PART_COUNT, 0, {}},
    Text(" passages, each indicated by a numerical identifier. Rank the passages based on their relevance to query: "), kQuery,
    WithInstruction("\n<instruct>\n"), kGivenInstruction, WithInstruction("\n</instruct>"),
    {RANKFEED_PART_EACH, 0, {}}, Text("\n<passage id=\""), {RANKFEED_PART_NUMBER, 0, {}}, Text("\">\n"), kDocument,
    Marker("<|embed_token|>"), Text("\n</passage>"), {RANKFEED_PART_END, 0, {}},
    Text("\n<query>\n"), kQuery, Marker("<|rerank_token|>"), Text("\n</query>"), kEnd, Text("\n"), kStart,
    Text("assistant\n"), Special("<think>"), Text("\n\n"), Special("</think>"), Text("\n\n")};

template <size_t n>
constexpr rankfeed_row_template Row(const rankfeed_row_part (&parts)[n], const char* name, const char* source,
                                    const char* revision) {
  rankfeed_row_template row = {};
  row.struct_size = sizeof(row);
  row.part_count = n;
  row.parts = parts;
  row.name = T(name);
  row.source = T(source);
  row.revision = T(revision);
  return row;
}
template <size_t n>
constexpr rankfeed_row_template Answers(rankfeed_row_template row, const rankfeed_text (&answers)[n]) {
  row.answers = answers;
  row.answer_count = n;
  return row;
}
constexpr rankfeed_row_template Cut(rankfeed_row_template row, uint8_t truncation, uint32_t max_length) {
  row.truncation = truncation;
  row.max_length = max_length;
  return row;
}
// Libraries that cut the query to three quarters and the document to all of a limit that does not count
// what stands around them.
constexpr rankfeed_row_template Pair(rankfeed_row_template row, uint32_t max_length, uint8_t prefix_times,
                                     uint8_t suffix_times) {
  row = Cut(row, RANKFEED_TRUNCATE_ONLY_SECOND, max_length);
  row.prefix_times = prefix_times;
  row.suffix_times = suffix_times;
  row.query_quarters = 3;
  row.document_limit = 1;
  row.pad_to_multiple_of = 8;
  return row;
}
constexpr rankfeed_row_template List(rankfeed_row_template row, uint32_t max_length, uint32_t max_documents,
                                     uint32_t max_query_tokens, uint32_t max_document_tokens) {
  row.max_length = max_length;
  row.max_documents = max_documents;
  row.max_query_tokens = max_query_tokens;
  row.max_document_tokens = max_document_tokens;
  return row;
}
constexpr rankfeed_row_template Padded(rankfeed_row_template row, const char* pad) {
  row.pad = T(pad);
  return row;
}
constexpr rankfeed_row_template Instructed(rankfeed_row_template row) {
  row.instruction = T("Given a web search query, retrieve relevant passages that answer the query");
  return row;
}

constexpr const char* kQwenPage = "QwenLM/Qwen3-Embedding, README.md and examples/qwen3_reranker_transformers.py";
constexpr const char* kQwenChatPage = "QwenLM/Qwen3-Embedding, README.md, the example with vLLM";
constexpr const char* kQwenPad = "<|endoftext|>";
constexpr rankfeed_row_template kPresets[] = {
    Padded(Instructed(Answers(Cut(Row(kQwen3, "qwen3-reranker", kQwenPage, "f4ad0c4"), RANKFEED_TRUNCATE_TEXT_END, 8192), kYesNo)),
           kQwenPad),
    Padded(Instructed(Answers(Cut(Row(kQwen3Chat, "qwen3-reranker-chat", kQwenChatPage, "f4ad0c4"), RANKFEED_TRUNCATE_TEXT_END, 8192),
                              kYesNo)),
           kQwenPad),
    Padded(Answers(Pair(Row(kMxbai, "mxbai-rerank-v2", "mixedbread-ai/mxbai-rerank, mxbai_rerank/mxbai_rerank_v2.py", "8e709dc"), 8192, 1, 1),
                   kZeroOne),
           kQwenPad),
    Padded(Answers(Cut(Row(kMxbaiJoined, "mxbai-rerank-v2-joined",
                           "vllm-project/vllm, examples/pooling/score/template/mxbai_rerank_v2.jinja", "c215d1e"),
                       RANKFEED_TRUNCATE_TEXT_END, 8192),
                   kZeroOne),
           kQwenPad),
    Padded(Answers(Pair(Row(kBgeGemma, "bge-reranker-v2-gemma",
                            "FlagOpen/FlagEmbedding, FlagEmbedding/inference/reranker/decoder_only/base.py", "1.4.2"), 512, 0, 2),
                   kYes),
           "<pad>"),
    Cut(Row(kNemotron, "llama-nemotron-rerank",
            "vllm-project/vllm, examples/pooling/score/template/nemotron-rerank.jinja", "42fa4c0"),
        RANKFEED_TRUNCATE_TEXT_END, 8192),
    Padded(List(Row(kJina3, "jina-reranker-v3", "jinaai/jina-reranker-v3, modeling.py", "2025-10"), 131072, 125, 512, 2048), kQwenPad),
};

}  // namespace

std::span<const rankfeed_row_template> Presets() {
  return kPresets;
}

}  // namespace rankfeed::templates
