// SPDX-License-Identifier: MIT
// Encodes "A panda eats bamboo." with the tokenizer.json that is given, whose ids for it are known.
#include <rankfeed/builder.hpp>
#include <rankfeed/rankfeed.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto vocabulary = rankfeed::Vocabulary::Load(argv[1]);
  if (!vocabulary) return std::fprintf(stderr, "%s\n", vocabulary.error().message.c_str()), 1;
  auto encoder = rankfeed::Encoder::Create(vocabulary->model(), 1 << 10);
  if (!encoder) return 3;
  rankfeed::Encoding encoding;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = RANKFEED_ADD_SPECIAL_TOKENS;
  if (encoder->Encode("A panda eats bamboo.", options, &encoding)) return 4;
  for (const int32_t id : encoding.input_ids) std::printf("%d ", id);
  std::printf("\n");
  const std::vector<int32_t> expected = {0, 5, 6, 7, 8, 9, 10, 2};
  if (encoding.input_ids != expected) return std::fprintf(stderr, "other ids than expected\n"), 5;
  std::printf("rankfeed %s encodes\n", rankfeed_version_string());
}
