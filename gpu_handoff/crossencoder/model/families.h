// SPDX-License-Identifier: MIT
// crossencoder/model/families.h: what config.json says of one kind of model only, read into the
// description. architecture.cc names these functions in its table.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_FAMILIES_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_FAMILIES_H_

namespace rankfeed::handoff {

class Reader;
struct ModelConfig;

// Sizes, activation and epsilon are read before; read's messages begin with the file's name.
void ReadModernBert(const Reader& read, ModelConfig* config);
void ReadDeberta(const Reader& read, ModelConfig* config);
void ReadGte(const Reader& read, ModelConfig* config);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_FAMILIES_H_
