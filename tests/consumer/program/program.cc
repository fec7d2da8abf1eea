// A program that uses every installed component: prints the ids of a text with special tokens, read
// through the slot ring's memory, filled by the oneTBB executor's thread.
#include <rankfeed/builder.hpp>
#include <rankfeed/handoff.h>
#include <rankfeed/parallel.h>
#include <rankfeed/rankfeed.h>

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
  ring_options.struct_size = sizeof(ring_options);
  ring_options.slot_bytes = 4 * encoding.input_ids.size();
  ring_options.slots = 1;
  rankfeed_handoff* ring = nullptr;
  if (rankfeed_handoff_open(&ring_options, &ring, nullptr) != RANKFEED_OK) return 6;
  rankfeed_handoff_slot slot;
  rankfeed_handoff_view view{};
  view.struct_size = sizeof(view);
  if (rankfeed_handoff_acquire(ring, &slot, &view) != RANKFEED_OK) return 7;

  rankfeed_parallel* threads = nullptr;
  if (rankfeed_parallel_open(2, &threads) != RANKFEED_OK) return 8;
  struct Copy {
    const int32_t* from;
    int32_t* to;
  } copy{encoding.input_ids.data(), static_cast<int32_t*>(view.host)};
  const rankfeed_executor* executor = rankfeed_parallel_executor(threads);
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
  rankfeed_parallel_close(threads);
  rankfeed_handoff_close(ring);
}
