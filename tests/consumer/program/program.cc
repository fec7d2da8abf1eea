// A program that uses every installed component: prints the ids of a text with special tokens, read
// through the slot ring's memory, filled by the oneTBB executor's thread.
#include <rankfeed/rankfeed.h>
#include <rankfeed/builder.hpp>
#include <rankfeed/handoff.hpp>
#include <rankfeed/parallel.hpp>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (rankfeed_version() != RANKFEED_VERSION) return 3;
  auto vocab = rankfeed::Vocabulary::Load(argv[1]);
  if (!vocab) return std::fprintf(stderr, "%s\n", vocab.error().message.c_str()), 1;
  auto encoder = rankfeed::Encoder::Create(vocab->model(), 1 << 16);
  if (!encoder) return 4;
  rankfeed::Encoding encoding;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = RANKFEED_ADD_SPECIAL_TOKENS;
  if (encoder->Encode(argv[2], options, &encoding)) return 5;

  rankfeed_handoff_options ring_options{};
  ring_options.slot_bytes = 4 * encoding.input_ids.size();
  ring_options.slots = 1;
  auto ring = rankfeed::Handoff::Open(ring_options);
  if (!ring) return 6;
  auto slot = ring->Acquire();
  if (!slot) return 7;

  auto threads = rankfeed::Parallel::Open(2);
  if (!threads) return 8;
  struct Copy {
    const int32_t* from;
    int32_t* to;
  } copy{encoding.input_ids.data(), reinterpret_cast<int32_t*>(slot->bytes().data())};
  const rankfeed_executor* executor = threads->executor();
  const auto task = [](void* context, size_t begin, size_t end, uint32_t) {
    const Copy* c = static_cast<const Copy*>(context);
    std::memcpy(c->to + begin, c->from + begin, (end - begin) * sizeof(int32_t));
  };
  if (executor->parallel_for(executor->context, encoding.input_ids.size(), task, &copy) !=
      RANKFEED_OK) {
    return 9;
  }
  for (size_t i = 0; i < encoding.input_ids.size(); ++i) std::printf("%d ", copy.to[i]);
  std::printf("\n");
}
