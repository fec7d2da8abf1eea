// SPDX-License-Identifier: MIT
// folder/keys.h: the keys of the files of a model's folder that transformers 5 or sentence-transformers 6.2 read, and what
// becomes of each here. This is the one list: what is not in it, no author's software obeys.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "builder/files/json_value.h"

namespace rankfeed::folder {

// kObeyed: another value makes other rows, ids or scores, or is refused.
// kHarmless: it changes none of these. kRefused: only a value that asks for nothing is taken (null, false, an empty text,
// list or object), or the one the row names.
enum class Rule : uint8_t { kObeyed, kHarmless, kRefused };

struct Key {
  const char* file;
  const char* key;
  Rule rule;
  const char* note;             // why it is harmless or refused, or what obeys it
  const char* taken = nullptr;  // of kRefused: the value that is taken, as JSON
};

std::span<const Key> Keys();
// Null where the file has no such key.
const Key* FindKey(std::string_view file, std::string_view key);

// Names the first refused key of the object, with its value and why; empty where there is none. path: of the file, for the
// message. also: values, as JSON, that are taken beside the one that a row names. O(members).
std::string RefusedKey(std::string_view file, const std::string& path, const builder::Json& object,
                       std::span<const std::string_view> also = {});

}  // namespace rankfeed::folder
