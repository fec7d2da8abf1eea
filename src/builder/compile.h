// SPDX-License-Identifier: MIT
// builder/compile.h: source bytes to a verified image, in C++; capi/folders/capi_builder.cc offers it in C.
#pragma once

#include <string>
#include <string_view>

#include "builder/base/model_spec.h"
#include "builder/files/file_changes.h"
#include "builder/image/image_bytes.h"
#include "rankfeed/builder.h"

namespace rankfeed::builder {

enum class SourceFormat { kSentencePiece, kHuggingFace, kImage };

// Returns the format by content: an image by its magic, JSON by its first characters, everything
// else as protobuf; but as JSON, whose reader says where it is broken, what is named .json and cannot be a .model.
SourceFormat DetectFormat(std::string_view source, std::string_view name);

// options may be null; its struct_size has been checked. changes: of a tokenizer.json. Throws BuildError, std::bad_alloc.
ImageBytes Compile(std::string_view source, const std::string& name,
                   const rankfeed_compile_options* options, const FileChanges& changes = {});

}  // namespace rankfeed::builder
