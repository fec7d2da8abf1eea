// SPDX-License-Identifier: MIT
// capi/status.cc: names and sentences of the status codes.
#include "rankfeed/status.h"

namespace {

struct Entry {
  rankfeed_status code;
  const char* name;
  const char* message;
};

constexpr Entry kEntries[] = {
    {RANKFEED_OK, "RANKFEED_OK", "success"},
    {RANKFEED_E_ARGUMENT, "RANKFEED_E_ARGUMENT", "an argument is null, out of range or contradicts another"},
    {RANKFEED_E_ALIGNMENT, "RANKFEED_E_ALIGNMENT", "storage is not aligned as required"},
    {RANKFEED_E_WORKSPACE_SIZE, "RANKFEED_E_WORKSPACE_SIZE", "storage is smaller than required"},
    {RANKFEED_E_OUTPUT_SIZE, "RANKFEED_E_OUTPUT_SIZE", "output is too small; the size needed is reported"},
    {RANKFEED_E_LIMIT, "RANKFEED_E_LIMIT", "input exceeds a limit: of its limits struct (max_text_bytes, max_stretch_bytes, ...) or of the vocabulary (rankfeed_max_text_bytes)"},
    {RANKFEED_E_STRUCT_SIZE, "RANKFEED_E_STRUCT_SIZE", "struct_size is not one this library knows"},
    {RANKFEED_E_IMAGE_MAGIC, "RANKFEED_E_IMAGE_MAGIC", "not a rankfeed file of this kind"},
    {RANKFEED_E_IMAGE_VERSION, "RANKFEED_E_IMAGE_VERSION", "the file is of another version of rankfeed: `rankfeed compile` makes an image anew, `rankfeed corpus build` a store"},
    {RANKFEED_E_IMAGE_CHECKSUM, "RANKFEED_E_IMAGE_CHECKSUM", "checksum does not match: the file is damaged"},
    {RANKFEED_E_IMAGE_STRUCTURE, "RANKFEED_E_IMAGE_STRUCTURE", "file is truncated or breaks a rule of its format"},
    {RANKFEED_E_PARSE, "RANKFEED_E_PARSE", "model file is damaged or not of the expected format"},
    {RANKFEED_E_UNSUPPORTED, "RANKFEED_E_UNSUPPORTED", "model kind or pipeline element is not supported"},
    {RANKFEED_E_PARITY, "RANKFEED_E_PARITY", "the file cannot have this parity mode"},
    {RANKFEED_E_PLATFORM, "RANKFEED_E_PLATFORM", "big-endian hosts are not supported"},
    {RANKFEED_E_VOCABULARY, "RANKFEED_E_VOCABULARY", "the corpus store was made with another vocabulary or other options: `rankfeed corpus build` makes it anew"},
    {RANKFEED_E_BUSY, "RANKFEED_E_BUSY", "nothing is free right now"},
    {RANKFEED_E_STATE, "RANKFEED_E_STATE", "object is not in a state that allows this call"},
    {RANKFEED_E_CANCELLED, "RANKFEED_E_CANCELLED", "cancelled by the caller"},
    {RANKFEED_E_DEADLINE, "RANKFEED_E_DEADLINE", "deadline passed"},
    {RANKFEED_E_STALE, "RANKFEED_E_STALE", "the batch belongs to an earlier request or to another reranker"},
    {RANKFEED_E_NO_MEMORY, "RANKFEED_E_NO_MEMORY", "out of memory"},
    {RANKFEED_E_IO, "RANKFEED_E_IO", "reading or writing a file failed"},
    {RANKFEED_E_DEVICE, "RANKFEED_E_DEVICE", "the device reported an error"},
    {RANKFEED_E_NO_DEVICE, "RANKFEED_E_NO_DEVICE", "no such device on this machine"},
    {RANKFEED_E_UNK_ID, "RANKFEED_E_UNK_ID", "text holds an unknown piece and the model has no unknown id"},
    {RANKFEED_E_ID_RANGE, "RANKFEED_E_ID_RANGE", "id is outside the vocabulary"},
    {RANKFEED_E_SPECIAL_IN_TEXT, "RANKFEED_E_SPECIAL_IN_TEXT", "text holds a literal special token"},
    {RANKFEED_E_TRUNCATION, "RANKFEED_E_TRUNCATION", "row cannot be cut to max_length by this strategy"},
    {RANKFEED_E_TOO_LONG, "RANKFEED_E_TOO_LONG", "row is longer than max_length and truncation is off"},
    {RANKFEED_E_NOT_FOUND, "RANKFEED_E_NOT_FOUND", "no such document, name or token"},
};

const Entry* Find(rankfeed_status status) {
  for (const Entry& entry : kEntries) {
    if (entry.code == status) return &entry;
  }
  return nullptr;
}

}  // namespace

const char* rankfeed_status_name(rankfeed_status status) {
  const Entry* entry = Find(status);
  return entry != nullptr ? entry->name : "RANKFEED_E_?";
}

const char* rankfeed_status_message(rankfeed_status status) {
  const Entry* entry = Find(status);
  return entry != nullptr ? entry->message : "unknown status code";
}
