// SPDX-License-Identifier: MIT
#include "builder/files/presets.h"

#include <gtest/gtest.h>

#include "builder/builder_test_util.h"
#include "builder/hf_file.h"
#include "reference/sp_model_proto.h"

namespace rankfeed::builder {
namespace {

using builder_test::Compiled;
using builder_test::FailsWith;
using builder_test::HfFile;
using builder_test::Show;
using sp_test::ModelProto;

// <unk> <s> </s> and two pieces, then what a case adds.
ModelProto Small() {
  ModelProto model;
  model.AddSpecials();
  model.Add("a", -1);
  model.Add("b", -2);
  return model;
}

int32_t Id(const Compiled& compiled, std::string_view piece) {
  return rankfeed_model_piece_to_id(compiled.model, piece.data(), piece.size());
}

TEST(Presets, NoneUsesBosAndEos) {
  ModelProto model = Small();
  {
    const Compiled compiled(Serialize(model));
    const Model& m = compiled.view();
    EXPECT_EQ(Show(m, m.template_single), "1 A 2");
    EXPECT_EQ(Show(m, m.template_pair), "1 A 2 2 B 2");
    EXPECT_FALSE(m.has(image::kTemplateFromFile));
    EXPECT_EQ(m.config->cls_id, 1u);
    EXPECT_EQ(m.config->sep_id, 2u);
  }
  model.pieces.erase(model.pieces.begin() + 1);  // no <s>
  {
    const Compiled compiled(Serialize(model));
    const Model& m = compiled.view();
    EXPECT_EQ(Show(m, m.template_single), "A 1");
    EXPECT_EQ(Show(m, m.template_pair), "A 1 1 B 1");
  }
  model.pieces.erase(model.pieces.begin() + 1);  // no </s> either
  const Compiled compiled(Serialize(model));
  const Model& m = compiled.view();
  EXPECT_EQ(Show(m, m.template_single), "A");
  EXPECT_EQ(Show(m, m.template_pair), "A B");
}

TEST(Presets, UnknownNameListsTheNames) {
  EXPECT_TRUE(FailsWith(Compiled(Serialize(Small()), "gpt2"), RANKFEED_E_ARGUMENT,
                        "unknown preset \"gpt2\"; there are: albert, bert, bert-cased, camembert, deberta-v3, mpnet, t5, "
                        "xlm-roberta, xlnet"));
}

// tokenization_xlm_roberta.py: fairseq offsets, <mask> last.
TEST(Presets, XlmRoberta) {
  const Compiled compiled(Serialize(Small()), "xlm-roberta");
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  EXPECT_EQ(compiled.info().id_count, 7u);
  const char* pieces[] = {"<s>", "<pad>", "</s>", "<unk>", "a", "b", "<mask>"};
  for (uint32_t id = 0; id < 7; ++id) {
    EXPECT_EQ(compiled.piece(id), pieces[id]);
    EXPECT_EQ(Id(compiled, pieces[id]), static_cast<int32_t>(id));
  }
  const Model& m = compiled.view();
  EXPECT_EQ(Show(m, m.template_single), "0 A 2");
  EXPECT_EQ(Show(m, m.template_pair), "0 A 2 2 B 2");
  const rankfeed_model_info info = compiled.info();
  EXPECT_EQ(info.unk_id, 3);
  EXPECT_EQ(info.bos_id, 0);
  EXPECT_EQ(info.eos_id, 2);
  EXPECT_EQ(info.pad_id, 1);
  EXPECT_EQ(info.mask_id, 6);
  EXPECT_EQ(info.position_offset, 2u);
  EXPECT_EQ(info.position_pad, 1u);
  EXPECT_EQ(m.text(m.config->family), "xlm-roberta");
  EXPECT_EQ(m.id_flags[1], 3 | image::kIdAdded | image::kIdSpecial);  // a control id
  EXPECT_TRUE(m.added_raw.empty());  // libsentencepiece matches no added tokens
}

TEST(Presets, XlmRobertaNeedsItsOrder) {
  ModelProto model = Small();
  std::swap(model.pieces[0], model.pieces[1]);
  EXPECT_TRUE(FailsWith(Compiled(Serialize(model), "xlm-roberta"), RANKFEED_E_UNSUPPORTED,
                        "preset xlm-roberta needs piece 0 to be <unk>"));
}

// tokenization_camembert.py and convert_slow_tokenizer.py.
TEST(Presets, Camembert) {
  const Compiled compiled(Serialize(Small()), "camembert");
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const char* pieces[] = {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED",
                          "<s>",        "</s>",  "a",           "b",     "<mask>"};
  ASSERT_EQ(compiled.info().id_count, 10u);
  for (uint32_t id = 0; id < 10; ++id) EXPECT_EQ(compiled.piece(id), pieces[id]);
  const Model& m = compiled.view();
  EXPECT_EQ(Show(m, m.template_pair), "5 A 6 6 B 6");
  EXPECT_EQ(m.config->unk_id, 3u);
  EXPECT_EQ(m.config->position_offset, 2u);
}

TEST(Presets, DebertaAndAlbert) {
  for (const bool deberta : {true, false}) {
    ModelProto model;
    model.Add(deberta ? "[PAD]" : "<pad>", 0, sp_test::kControl);
    model.Add("[CLS]", 0, sp_test::kControl);
    model.Add("[SEP]", 0, sp_test::kControl);
    model.Add("[UNK]", 0, sp_test::kUnknown);
    model.Add("a", -1);
    const Compiled compiled(Serialize(model), deberta ? "deberta-v3" : "albert");
    ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    const Model& m = compiled.view();
    EXPECT_EQ(Show(m, m.template_single), "1 A 2");
    EXPECT_EQ(Show(m, m.template_pair), "1 A 2 B:1 2:1");
    EXPECT_TRUE(m.has(image::kHasTokenTypeIds));
    EXPECT_EQ(m.config->pad_id, 0u);
    EXPECT_EQ(m.config->mask_id, 5u);
    EXPECT_EQ(compiled.piece(5), "[MASK]");
    EXPECT_EQ(m.config->position_offset, 0u);
    EXPECT_EQ(m.config->unk_id, 3u);
  }
}

TEST(Presets, MissingTokenIsNamed) {
  EXPECT_TRUE(FailsWith(Compiled(Serialize(Small()), "albert"), RANKFEED_E_UNSUPPORTED,
                        "preset albert needs the token [CLS]"));
}

TEST(Presets, T5) {
  ModelProto model;
  model.Add("<pad>", 0, sp_test::kControl);
  model.Add("</s>", 0, sp_test::kControl);
  model.Add("<unk>", 0, sp_test::kUnknown);
  model.Add("a", -1);
  const Compiled compiled(Serialize(model), "t5");
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  EXPECT_EQ(compiled.info().id_count, 104u);
  EXPECT_EQ(compiled.piece(4), "<extra_id_99>");
  EXPECT_EQ(compiled.piece(103), "<extra_id_0>");
  const Model& m = compiled.view();
  EXPECT_EQ(Show(m, m.template_single), "A 1");
  EXPECT_EQ(Show(m, m.template_pair), "A 1 B 1");
  EXPECT_EQ(m.config->pad_id, 0u);
}

TEST(Presets, Xlnet) {
  ModelProto model = Small();
  for (const char* piece : {"<cls>", "<sep>", "<pad>", "<mask>"}) {
    model.Add(piece, 0, sp_test::kControl);
  }
  const Compiled compiled(Serialize(model), "xlnet");
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const Model& m = compiled.view();
  EXPECT_EQ(Show(m, m.template_single), "A 6 5:2");
  EXPECT_EQ(Show(m, m.template_pair), "A 6 B:1 6:1 5:2");
  EXPECT_TRUE(m.has(image::kPadLeft));
  EXPECT_EQ(m.config->pad_type_id, 3u);
  EXPECT_EQ(m.config->mask_id, 8u);
  EXPECT_EQ(compiled.info().id_count, 9u);  // nothing appended
}

// A tokenizer.json keeps its template; a preset fills a missing one.
TEST(Presets, TokenizerJson) {
  HfFile file;
  {
    const Compiled compiled(file.Text(), "xlm-roberta");
    ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    const Model& m = compiled.view();
    EXPECT_EQ(Show(m, m.template_pair), "0 A 2 2 B 2");
    EXPECT_EQ(m.config->position_offset, 2u);
    EXPECT_EQ(compiled.info().id_count, 7u);
    EXPECT_FALSE(m.has(image::kHasTokenTypeIds));
  }
  file.post_processor = R"({"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0]})";
  const Compiled compiled(file.Text(), "xlm-roberta");
  EXPECT_EQ(Show(compiled.view(), compiled.view().template_pair), "0 A 2 B:1 2:1");
}

// "<s>" of Qwen2 is a piece that merges make of source code, not the begin of a text.
TEST(Presets, SpecialTokensOfBpeAreAddedOnes) {
  const auto ids = [](const char* added) {
    const Compiled compiled(std::string(R"({"added_tokens":[)") + added +
                            R"(],"model":{"type":"BPE","vocab":{"<":0,"s":1,">":2,"<s":3,"<s>":4,"<pad>":5},)"
                            R"("merges":["< s","<s >"]}})");
    EXPECT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    return std::pair(compiled.info().bos_id, compiled.info().pad_id);
  };
  EXPECT_EQ(ids(""), std::pair(-1, -1));
  EXPECT_EQ(ids(R"({"id":4,"content":"<s>","special":true,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false})"),
            std::pair(4, -1));
}

// A processor that only trims offsets leaves pairs as those of a file without one.
TEST(Presets, ByteLevelProcessorIsNoTemplate) {
  for (const char* processor : {"null", R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false})"}) {
    const Compiled compiled(std::string(R"({"post_processor":)") + processor +
                            R"(,"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})");
    ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    EXPECT_EQ(Show(compiled.view(), compiled.view().template_pair), "A B:1");
  }
}

TEST(Presets, SharedXlmRobertaModelHasTheIdsOfItsTokenizerJson) {
  RANKFEED_SHARED_FILE(model, "xlmr.model");
  RANKFEED_SHARED_FILE(json, "xlmr.tokenizer.json");
  const Compiled sp(model, "xlm-roberta"), hf(json);
  ASSERT_EQ(sp.status, RANKFEED_OK) << sp.message();
  ASSERT_EQ(hf.status, RANKFEED_OK) << hf.message();
  ASSERT_EQ(sp.info().id_count, hf.info().id_count);
  for (uint32_t id = 0; id < sp.info().id_count; ++id) {
    ASSERT_EQ(sp.piece(id), hf.piece(id)) << id;
  }
  EXPECT_EQ(Show(sp.view(), sp.view().template_pair), Show(hf.view(), hf.view().template_pair));
}

}  // namespace
}  // namespace rankfeed::builder
