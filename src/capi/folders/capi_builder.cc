// SPDX-License-Identifier: MIT
// capi/folders/capi_builder.cc: include/rankfeed/builder.h. Checks arguments, reads files and those beside
// them, keeps exceptions inside.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "base/aligned_memory.h"
#include "builder/compile.h"
#include "builder/files/row_template_json.h"
#include "capi/folders/changes.h"
#include "capi/folders/guard.h"
#include "capi/folders/tokenizer_json.h"
#include "image/model.h"
#include "platform/files/file_calls.h"
#include "rankfeed/builder.h"

using rankfeed::builder::BuildError;
using rankfeed::builder::ImageBytes;

struct rankfeed_loaded {
  rankfeed_mapping mapping{};  // of the image, or of the file that it is compiled from
  rankfeed_placement placement{};
  void* storage = nullptr;
  rankfeed_model* model = nullptr;
  std::string note;

  ~rankfeed_loaded() {
    rankfeed::AlignedFree(storage);
    rankfeed_image_unmap(&mapping);
  }
};

namespace {

using rankfeed::builder::SourceFormat;
using rankfeed::folders::CheckNotNull;
using rankfeed::folders::Guard;
using rankfeed::files::FileInfo;
using rankfeed::files::OpenAs;
using rankfeed::files::ReadAs;

std::string ErrnoText(int number) {
  char text[128];
  rankfeed::files::ErrorText(number, text, sizeof text);
  return text;
}

[[noreturn]] void FailIo(const std::string& what, const std::string& path, int number) {
  throw BuildError(number == ENOMEM ? RANKFEED_E_NO_MEMORY : RANKFEED_E_IO,
                   "cannot ", what, " ", path, ": ", ErrnoText(number));
}

// An open file that closes itself.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  int Open(const std::string& path, rankfeed::files::OpenAs how) {
    return rankfeed::files::OpenDescriptor(path.c_str(), how, &fd_);
  }
  int Close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 ? 0 : close(fd);
  }

 private:
  int fd_ = -1;
};

// Not opened where it is no regular file: of a device or a pipe nobody knows the end.
void CheckRegular(const std::string& path) {
  const char* const why = rankfeed::files::WhyUnreadable(path.c_str(), ReadAs::kWhole);
  if (why != nullptr) throw BuildError(RANKFEED_E_IO, path, ": ", why, ", not a file");
}

std::string ReadFile(const std::string& path) {
  CheckRegular(path);
  File file;
  if (const int error = file.Open(path, OpenAs::kReading)) FailIo("open", path, error);
  FileInfo info;
  if (const int error = rankfeed::files::InfoOf(file.fd(), &info)) FailIo("read", path, error);
  if (!info.regular) FailIo("read", path, EINVAL);  // it is another one now
  std::string bytes(static_cast<size_t>(info.size), '\0');
  const int error = rankfeed::files::ReadAt(file.fd(), bytes.data(), bytes.size(), 0);
  if (error != 0) FailIo("read", path, error);
  return bytes;
}

bool IsImage(std::string_view bytes) {
  return rankfeed::builder::DetectFormat(bytes, "") == SourceFormat::kImage;
}

// A source, or the tokenizer.json that is made of it: of a vocab.json, or a vocab.txt, by the name of
// its file, with those beside it; of any list of pieces by a preset.
class Source {
 public:
  // kName: path is a name, and nothing beside it is read. kFile: of lists of pieces the files beside them. kFolder: path is
  // that of a folder's vocabulary, whose files change it.
  enum class Path { kName, kFile, kFolder };
  // note: null, or receives what ChangesOf says.
  Source(std::string_view bytes, const std::string& path, Path kind, const rankfeed_compile_options* options, std::string* note = nullptr)
      : bytes_(bytes), name_(path), folder_(path.substr(0, path.find_last_of("/\\") + 1)) {
    const std::string file = kind != Path::kName ? path.substr(folder_.size()) : "";
    if (kind == Path::kFolder) changes_ = rankfeed::folders::ChangesOf(path, note);
    const std::string_view preset =
        options != nullptr && options->preset != nullptr ? options->preset : "";
    const bool json = rankfeed::builder::DetectFormat(bytes, path) == SourceFormat::kHuggingFace;
    if (file == "vocab.json") {
      made_ = rankfeed::folders::TokenizerJsonOfMerges(bytes, MergesOf(path), path, rankfeed::folders::FilesBeside::Of(folder_));
    } else if (file == "vocab.txt" && preset.empty()) {
      made_ = rankfeed::folders::TokenizerJsonOf(bytes, path, rankfeed::folders::FilesBeside::Of(folder_), preset);
    } else if (!json && rankfeed::folders::IsWordPiecePreset(preset)) {
      made_ = rankfeed::folders::TokenizerJsonOf(bytes, path, {}, preset);
    } else if (!json && !IsImage(bytes) && rankfeed::folders::LooksLikeVocabTxt(bytes)) {
      throw BuildError(RANKFEED_E_UNSUPPORTED,
                       path, ": looks like the vocab.txt of a WordPiece model, which does not say how "
                       "texts are normalized: give --preset bert (lowercases) or bert-cased, or "
                       "the path of a file of that name, beside which the others lie");
    }
    if (!made_.empty()) bytes_ = made_;
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  ImageBytes Compile(const rankfeed_compile_options* options) const {
    try {
      return rankfeed::builder::Compile(bytes_, name_, options, changes_);
    } catch (const BuildError& error) {
      // A place in a text that was made here is none in a file.
      const std::string place = name_ + ": byte " + std::to_string(error.byte_offset) + ": ", message = error.what();
      if (made_.empty() || !message.starts_with(place)) throw;
      throw BuildError(error.code, name_, ": ", message.substr(place.size()));
    }
  }

 private:
  std::string MergesOf(const std::string& path) const {
    FileInfo info;
    const std::string file = folder_ + "merges.txt";
    if (rankfeed::files::InfoOf(file.c_str(), &info) == 0) return ReadFile(file);
    throw BuildError(RANKFEED_E_UNSUPPORTED,
                     path, ": there is no merges.txt beside it, so nothing says how pieces are made");
  }

  std::string_view bytes_;
  const std::string name_, folder_;
  std::string made_;
  rankfeed::builder::FileChanges changes_;
};

// The file of a vocabulary, and whether its path was that of the folder.
struct Place {
  std::string file;
  Source::Path kind = Source::Path::kFile;
  explicit Place(const char* path) : file(path) {
    FileInfo info;
    if (rankfeed::files::InfoOf(path, &info) != 0 || !info.folder) return;
    file = rankfeed::folders::VocabularyFileOf(path);
    kind = Source::Path::kFolder;
  }
};

// Writes a temporary beside path, syncs it and renames it over path; the temporary is gone after
// any failure.
void WriteFile(const std::string& path, const ImageBytes& bytes) {
  FileInfo target;
  if (rankfeed::files::InfoOf(path.c_str(), &target) == 0 && !target.regular) {
    throw BuildError(RANKFEED_E_IO, path, ": exists and is not a regular file");
  }
  static std::atomic<uint32_t> counter{0};
  const std::string temporary =
      path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(counter++);
  File file;
  if (const int error = file.Open(temporary, OpenAs::kNew)) FailIo("create", path, error);
  const auto check = [&](const char* what, int error) {
    if (error == 0) return;
    file.Close();  // Windows removes no open file
    rankfeed::files::Remove(temporary.c_str());
    FailIo(what, path, error);
  };
  check("write", rankfeed::files::WriteAt(file.fd(), bytes.data(), bytes.size(), 0));
  check("sync", rankfeed::files::SyncFile(file.fd()));
  check("close", file.Close() == 0 ? 0 : errno);
  check("rename a temporary to", rankfeed::files::Rename(temporary.c_str(), path.c_str()));
  // The rename itself is durable once the directory is synced; without it the file is still whole.
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  (void)rankfeed::files::SyncFolder(folder.c_str());
}

void CheckOptions(const rankfeed_compile_options* options) {
  if (options != nullptr && options->struct_size != sizeof *options) {
    throw BuildError(RANKFEED_E_STRUCT_SIZE,
                     "rankfeed_compile_options has an unknown struct_size");
  }
}

rankfeed_image Released(ImageBytes bytes) {
  const size_t size = bytes.size();
  return {bytes.release(), size};
}

// The detail of a failed call on an image as a message.
[[noreturn]] void FailImage(const std::string& path, rankfeed_status status,
                            const rankfeed_error_detail& detail) {
  std::string why = path + ": " + rankfeed_status_message(status);
  if (detail.section != 0) {
    why += " (section " + std::to_string(detail.section) + ", item " + std::to_string(detail.item) +
           ")";
  }
  throw BuildError(status, why).At(detail.byte_offset);
}

bool IsEmptyFile(const char* path) {
  FileInfo info;
  return rankfeed::files::InfoOf(path, &info) == 0 && info.regular && info.size == 0;
}

// An image has the parity it was compiled for.
void CheckParity(const rankfeed_model& model, const rankfeed_compile_options* options,
                 const char* path) {
  if (options == nullptr || options->parity == RANKFEED_PARITY_AUTO ||
      static_cast<uint32_t>(options->parity) == model.config->parity) {
    return;
  }
  throw BuildError(RANKFEED_E_PARITY,
                   std::string(path), ": the image was compiled for ",
                   rankfeed_parity_name(model.config->parity),
                   " parity and cannot be used for another");
}

void OpenModel(rankfeed_loaded* loaded, const void* data, size_t size, const std::string& path) {
  const rankfeed_mem_req need = rankfeed_model_mem_req();
  const size_t rounded = (need.size + need.alignment - 1) / need.alignment * need.alignment;
  loaded->storage = rankfeed::AlignedAlloc(need.alignment, rounded);
  if (loaded->storage == nullptr) throw std::bad_alloc();
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof detail;
  const rankfeed_status status =
      rankfeed_model_open(data, size, 0, loaded->storage, rounded, &loaded->model, &detail);
  if (status != RANKFEED_OK) FailImage(path, status, detail);
}

// How rankfeed_image_open takes pages, and rankfeed_image_place.
uint32_t PlaceFlag(uint32_t pages) {
  return pages == RANKFEED_PAGES_HUGETLB       ? uint32_t{RANKFEED_PLACE_HUGETLB}
         : pages == RANKFEED_PAGES_TRANSPARENT ? uint32_t{RANKFEED_PLACE_TRANSPARENT}
         : pages == RANKFEED_PAGES_BASE        ? uint32_t{RANKFEED_PLACE_BASE}
                                               : 0u;
}

// Whether the error is that of a memory the caller insisted on, and not of the file.
void CheckHugetlb(uint32_t pages, const std::string& path, int number) {
  if (pages != RANKFEED_PAGES_HUGETLB || number != ENOMEM) return;
  throw BuildError(RANKFEED_E_IO,
                   path, ": no preallocated 2 MiB pages for it: ", ErrnoText(number),
                   " (vm.nr_hugepages)");
}

// The file's bytes, on those pages.
std::string_view Open(const char* path, uint32_t pages, rankfeed_loaded* loaded) {
  CheckRegular(path);
  rankfeed_image_unmap(&loaded->mapping);
  loaded->placement.struct_size = sizeof loaded->placement;
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof detail;
  const rankfeed_status status =
      rankfeed_image_open(path, pages, &loaded->mapping, &loaded->placement, &detail);
  if (status == RANKFEED_E_IO && IsEmptyFile(path)) {
    throw BuildError(RANKFEED_E_PARSE, std::string(path), ": the file is empty");
  }
  if (status == RANKFEED_E_IO) {
    CheckHugetlb(pages, path, static_cast<int>(detail.item));
    FailIo("open", path, static_cast<int>(detail.item));
  }
  if (status != RANKFEED_OK) FailImage(path, status, detail);
  return {static_cast<const char*>(loaded->mapping.data), loaded->mapping.size};
}

// The image that source is compiled to takes its place, on those pages.
void CompileInPlace(const Source& source, const char* path, uint32_t pages,
                    const rankfeed_compile_options* options, rankfeed_loaded* loaded) {
  const ImageBytes image = source.Compile(options);
  rankfeed_image_unmap(&loaded->mapping);
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof detail;
  const rankfeed_status status =
      rankfeed_image_place(image.data(), image.size(), PlaceFlag(pages), &loaded->mapping,
                           &loaded->placement, &detail);
  if (status == RANKFEED_OK) return;
  CheckHugetlb(pages, path, static_cast<int>(detail.item));
  FailIo("place the image of", path, static_cast<int>(detail.item));
}

}  // namespace

extern "C" {

RANKFEED_API rankfeed_status rankfeed_compile(const void* source, size_t source_size,
                                              const char* source_name,
                                              const rankfeed_compile_options* options,
                                              rankfeed_image* out, rankfeed_builder_error* error) {
  if (out != nullptr) *out = {};
  return Guard(error, [&] {
    CheckNotNull(out, "out");
    if (source_size != 0) CheckNotNull(source, "source");
    CheckOptions(options);
    const std::string name = source_name != nullptr ? source_name : "model";
    const Source from({static_cast<const char*>(source), source_size}, name, Source::Path::kName, options);
    *out = Released(from.Compile(options));
  });
}

RANKFEED_API void rankfeed_image_free(rankfeed_image* image) {
  if (image == nullptr) return;
  rankfeed::AlignedFree(image->data);
  *image = {};
}

RANKFEED_API rankfeed_status rankfeed_compile_file(const char* source_path, const char* out_path,
                                                   const rankfeed_compile_options* options,
                                                   rankfeed_builder_error* error) {
  return Guard(error, [&] {
    CheckNotNull(source_path, "source_path");
    CheckNotNull(out_path, "out_path");
    CheckOptions(options);
    const Place place(source_path);
    const std::string read = ReadFile(place.file);
    const Source source(read, place.file, place.kind, options);
    WriteFile(out_path, source.Compile(options));
  });
}

RANKFEED_API rankfeed_status rankfeed_load_on(const char* path, uint32_t pages,
                                              const rankfeed_compile_options* options,
                                              rankfeed_loaded** out,
                                              rankfeed_builder_error* error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&] {
    CheckNotNull(path, "path");
    CheckNotNull(out, "out");
    CheckOptions(options);
    if (pages > RANKFEED_PAGES_FILE) {
      throw BuildError(RANKFEED_E_ARGUMENT, "pages ", pages, " are not known");
    }
    auto loaded = std::make_unique<rankfeed_loaded>();
    const Place place(path);
    const char* const file = place.file.c_str();
    std::string_view bytes = Open(file, pages, loaded.get());
    if (!IsImage(bytes)) {
      // A copy is compiled: the file must not change meanwhile.
      if (pages == RANKFEED_PAGES_FILE) bytes = Open(file, RANKFEED_PAGES_AUTO, loaded.get());
      const Source source(bytes, place.file, place.kind, options, &loaded->note);
      CompileInPlace(source, file, pages, options, loaded.get());
    }
    OpenModel(loaded.get(), loaded->mapping.data, loaded->mapping.size, path);
    CheckParity(*loaded->model, options, path);
    *out = loaded.release();
  });
}

RANKFEED_API rankfeed_status rankfeed_load(const char* path,
                                           const rankfeed_compile_options* options,
                                           rankfeed_loaded** out, rankfeed_builder_error* error) {
  return rankfeed_load_on(path, RANKFEED_PAGES_AUTO, options, out, error);
}

RANKFEED_API rankfeed_status rankfeed_load_map_file(const char* path,
                                                    const rankfeed_compile_options* options,
                                                    rankfeed_loaded** out,
                                                    rankfeed_builder_error* error) {
  return rankfeed_load_on(path, RANKFEED_PAGES_FILE, options, out, error);
}

RANKFEED_API const rankfeed_model* rankfeed_loaded_model(const rankfeed_loaded* loaded) {
  return loaded == nullptr ? nullptr : loaded->model;
}

RANKFEED_API const void* rankfeed_loaded_image(const rankfeed_loaded* loaded, size_t* size) {
  if (size != nullptr) *size = loaded == nullptr ? 0 : loaded->mapping.size;
  return loaded == nullptr ? nullptr : loaded->mapping.data;
}

RANKFEED_API rankfeed_status rankfeed_loaded_placement(const rankfeed_loaded* loaded,
                                                       rankfeed_placement* out) {
  if (loaded == nullptr || out == nullptr) return RANKFEED_E_ARGUMENT;
  if (out->struct_size != sizeof *out) return RANKFEED_E_STRUCT_SIZE;
  *out = loaded->placement;
  return RANKFEED_OK;
}

RANKFEED_API const char* rankfeed_loaded_note(const rankfeed_loaded* loaded) {
  return loaded == nullptr ? nullptr : loaded->note.c_str();
}

RANKFEED_API void rankfeed_loaded_free(rankfeed_loaded* loaded) {
  delete loaded;
}

RANKFEED_API rankfeed_status rankfeed_template_read(const char* json, size_t size, const char* name,
                                                    rankfeed_loaded_template** out,
                                                    rankfeed_builder_error* error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&] {
    CheckNotNull(json, "json");
    CheckNotNull(out, "out");
    *out = rankfeed::builder::ReadRowTemplate({json, size}, name != nullptr ? name : "template");
  });
}

RANKFEED_API const rankfeed_row_template* rankfeed_loaded_template_get(
    const rankfeed_loaded_template* loaded) {
  return loaded == nullptr ? nullptr : &loaded->row;
}

RANKFEED_API void rankfeed_loaded_template_free(rankfeed_loaded_template* loaded) {
  delete loaded;
}

}  // extern "C"
