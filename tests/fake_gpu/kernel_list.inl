// SPDX-License-Identifier: MIT
// kernel_list.inl: all kernels of kernels.inl with the names that compilers register them by.
// Included after it, once for each width of a warp.

template <class T>
void AddOfType(const std::string& type, std::vector<EmulatedKernel>* to) {
  const auto add = [&](const std::string& name, auto kernel) {
    to->push_back(Make("", kernel));
    to->back().name = name;
  };
  const auto add_by_row = [&](const std::string& name, auto vectors, auto single) {
    add(name + "<" + type + ", " + std::to_string(kPerVector<T>) + "u>", vectors);
    add(name + "<" + type + ", 1u>", single);
  };
  if constexpr (T::kPerWord == 2) {
    add("HalvesAttentionKernel<" + type + ", 32u>", &HalvesAttentionKernel<T, 32>);
    add("HalvesAttentionKernel<" + type + ", 64u>", &HalvesAttentionKernel<T, 64>);
    add("HalvesAttentionKernel<" + type + ", 96u>", &HalvesAttentionKernel<T, 96>);
    add("HalvesAttentionKernel<" + type + ", 128u>", &HalvesAttentionKernel<T, 128>);
    add("HalvesWindowAttentionKernel<" + type + ", 64u>", &HalvesWindowAttentionKernel<T, 64>);
    add("HalvesWindowAttentionKernel<" + type + ", 128u>", &HalvesWindowAttentionKernel<T, 128>);
    add("HalvesGemmKernel<" + type + ">", &HalvesGemmKernel<T>);
  }
  add("RelativeAttentionKernel<" + type + ", 64u>", &RelativeAttentionKernel<T, 64>);
  add("RelativeAttentionKernel<" + type + ", 128u>", &RelativeAttentionKernel<T, 128>);
  add_by_row("BiasKernel", &BiasKernel<T, kPerVector<T>>, &BiasKernel<T, 1>);
  add_by_row("EmbedKernel", &EmbedKernel<T, kPerVector<T>>, &EmbedKernel<T, 1>);
  add_by_row("AddNormKernel", &AddNormKernel<T, kPerVector<T>>, &AddNormKernel<T, 1>);
  add_by_row("GateKernel", &GateKernel<T, kPerVector<T>>, &GateKernel<T, 1>);
  add("RotaryKernel<" + type + ">", &RotaryKernel<T>);
  add("FirstKernel<" + type + ">", &FirstKernel<T>);
  add("LogitsKernel<" + type + ">", &LogitsKernel<T>);
}

inline std::vector<EmulatedKernel> MakeAll() {
  std::vector<EmulatedKernel> all;
  AddOfType<F32>("F32", &all);
  AddOfType<F16>("F16", &all);
  AddOfType<Bf16>("Bf16", &all);
  all.push_back(Make("AttentionKernel<32u>", &AttentionKernel<32>));
  all.push_back(Make("AttentionKernel<64u>", &AttentionKernel<64>));
  all.push_back(Make("AttentionKernel<96u>", &AttentionKernel<96>));
  all.push_back(Make("AttentionKernel<128u>", &AttentionKernel<128>));
  all.push_back(Make("WindowAttentionKernel<64u>", &WindowAttentionKernel<64>));
  all.push_back(Make("WindowAttentionKernel<128u>", &WindowAttentionKernel<128>));
  all.push_back(Make("GemmKernel", &GemmKernel));
  all.push_back(Make("PositionsKernel", &PositionsKernel));
  all.push_back(Make("UnpackKernel<int>", &UnpackKernel<int32_t>));
  all.push_back(Make("UnpackKernel<long>", &UnpackKernel<int64_t>));
  return all;
}
