// SPDX-License-Identifier: MIT
// cli/oracle.cc: see oracle.h. Frames on both pipes are little-endian u32: texts go as a count, sizes
// and bytes; ids come back as a count for each text and then all ids.
#include "cli/oracle.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "cli/checked.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::cli {
namespace {

// Arguments: library, 1 for special tokens, preset, file, those beside it. The first line of the answer is "ok VERSION"
// or "error REASON". A vocab.txt or vocab.json is read by the class of transformers that these files name, from a folder
// in which they are alone, so that a tokenizer.json beside them counts no more than it does here. Bad UTF-8 is replaced for tokenizers, which takes only valid text, as rankfeed's
// HuggingFace parity does (rankfeed/encode.h).
constexpr char kScript[] = R"py(
import struct, sys
library, special, preset, path, *beside = sys.argv[1:]
special = special == "1"
out = sys.stdout.buffer

def say(line):
    out.write(line.replace("\n", " ").encode("utf-8", "replace") + b"\n")
    out.flush()

def of_pieces():
    import json, os, tempfile
    os.environ.update(TRANSFORMERS_VERBOSITY="error", TRANSFORMERS_NO_ADVISORY_WARNINGS="1", HF_HUB_OFFLINE="1")
    import transformers
    with tempfile.TemporaryDirectory() as folder:
        bpe = os.path.basename(path) == "vocab.json"
        os.symlink(os.path.abspath(path), os.path.join(folder, "vocab.json" if bpe else "vocab.txt"))
        for other in beside:
            os.symlink(os.path.abspath(other), os.path.join(folder, os.path.basename(other)))
        if preset and not bpe:
            with open(os.path.join(folder, "tokenizer_config.json"), "w") as config:
                json.dump({"tokenizer_class": "MPNetTokenizer" if preset == "mpnet" else "BertTokenizer",
                           "do_lower_case": preset != "bert-cased"}, config)
        said = {}
        for name in ("config.json", "tokenizer_config.json"):
            if os.path.exists(os.path.join(folder, name)):
                with open(os.path.join(folder, name), encoding="utf-8") as config:
                    said.update(json.load(config))
        named = "tokenizer_class" in said or "model_type" in said
        made = (transformers.AutoTokenizer if named else transformers.BertTokenizer).from_pretrained(folder)
        return made.backend_tokenizer, "transformers " + transformers.__version__ + " with "

try:
    if library == "huggingface":
        import tokenizers
        if beside or preset in ("bert", "bert-cased", "mpnet") or path.endswith(("vocab.txt", "vocab.json")):
            tokenizer, version = of_pieces()
        else:
            tokenizer, version = tokenizers.Tokenizer.from_file(path), ""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        version += "tokenizers " + tokenizers.__version__
        def one(text):
            return tokenizer.encode(text, add_special_tokens=special).ids
        def encode(texts):
            texts = [t.decode("utf-8", "replace") for t in texts]
            try:
                return [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=special)]
            except Exception:
                return [guarded(t) for t in texts]
        def guarded(text):
            try:
                return one(text)
            except Exception:
                return [-1]
    else:
        import sentencepiece
        processor = sentencepiece.SentencePieceProcessor(model_file=path)
        version = "sentencepiece " + sentencepiece.__version__
        def encode(texts):
            return processor.encode(texts) if texts else []
except ImportError as problem:
    say("error the interpreter has no module %s (pip install %s)" % (problem.name, problem.name))
    sys.exit(3)
except Exception as problem:
    say("error " + str(problem))
    sys.exit(3)
say("ok " + version)
data = sys.stdin.buffer
while True:
    head = data.read(4)
    if len(head) < 4:
        break
    count, = struct.unpack("<I", head)
    sizes = struct.unpack("<%dI" % count, data.read(4 * count))
    ids = encode([data.read(size) for size in sizes])
    out.write(struct.pack("<%dI" % count, *[len(i) for i in ids]))
    for i in ids:
        out.write(struct.pack("<%di" % len(i), *i))
    out.flush()
)py";

// Whether libsentencepiece of that version ("sentencepiece 0.2.3") sums scores as up to 0.2.1.
bool IsUpTo021(const std::string& version) {
  int parts[3] = {};
  return std::sscanf(version.c_str(), "sentencepiece %d.%d.%d", &parts[0], &parts[1], &parts[2]) >=
             2 &&
         std::tie(parts[0], parts[1], parts[2]) <= std::make_tuple(0, 2, 1);
}

// Two releases of the reference with different ids are not the same reference.
void CheckVersion(const std::string& version, const rankfeed_model_info& info) {
  if (info.parity == RANKFEED_PARITY_HUGGINGFACE) return;
  const uint32_t theirs =
      IsUpTo021(version) ? RANKFEED_PARITY_SENTENCEPIECE_0_2_1 : RANKFEED_PARITY_SENTENCEPIECE;
  if (info.parity == theirs) return;
  throw Failure("the vocabulary has parity {}, and {} has other ids; compile it with --parity {}",
                  rankfeed_parity_name(info.parity), version, rankfeed_parity_name(theirs));
}

// The reference must load the file that the vocabulary was made of. Where several files make a vocabulary
// together, the main one comes first.
std::vector<std::string> ReferenceFiles(const ReferenceOptions& o, const VocabOptions& vocab,
                                        const rankfeed_model_info& info) {
  std::string path = o.path.empty() ? vocab.path : o.path;
  if (std::filesystem::is_directory(path)) path = Take(folder::VocabularyOf(path));
  const bool huggingface = info.parity == RANKFEED_PARITY_HUGGINGFACE;
  if (huggingface != (o.library == "huggingface")) {
    throw Failure("{} has {} parity; compare it with {} {}", vocab.path,
                  huggingface ? "HuggingFace" : "SentencePiece", o.library_option,
                  huggingface ? "huggingface" : "sentencepiece");
  }
  if (o.path.empty()) {
    if (Model::Open(path.c_str())) {
      throw Failure("{} is an image, which no reference reads: name the file it was compiled "
                    "from with {}",
                    path, o.path_option);
    }
    return folder::VocabularyFiles(path, vocab.preset);
  }
  auto source = Vocabulary::Load(path, static_cast<int32_t>(info.parity),
                                 vocab.preset.empty() ? nullptr : vocab.preset.c_str());
  if (!source) throw Failure(source.error().message);
  const rankfeed_model_info other = Info(source->model());
  if (!std::equal(std::begin(info.config_hash), std::end(info.config_hash), other.config_hash)) {
    throw Failure("{} was not compiled from {}", vocab.path, path);
  }
  return folder::VocabularyFiles(path, vocab.preset);
}

}  // namespace

void ReferenceOptions::Add(CLI::App& command) {
  command.add_option(path_option, path, "The file or folder that --vocab was compiled from, when that is an image");
  command
      .add_option("--python", python,
                  "Python interpreter that has the reference's wheel: sentencepiece or tokenizers, and transformers for "
                  "a vocab.txt or vocab.json, which its classes read")
      ->envname("RANKFEED_PYTHON")
      ->capture_default_str();
}

Oracle::Oracle(const ReferenceOptions& o, const VocabOptions& vocab, const rankfeed_model_info& info) : python_(o.python) {
  const std::vector<std::string> files = ReferenceFiles(o, vocab, info);
  if (o.special && o.library == "sentencepiece") throw Failure("--special belongs to HuggingFace parity");
  Start(o, files, vocab.preset);
  CheckVersion(version_, info);
}

void Oracle::Start(const ReferenceOptions& o, const std::vector<std::string>& files, const std::string& preset) {
  const std::string &python = o.python, &library = o.library;
  signal(SIGPIPE, SIG_IGN);  // a child that ended is an error of the next write
  int request[2], answer[2];
  if (pipe(request) != 0 || pipe(answer) != 0) {
    throw Failure("cannot make a pipe: {}", strerror(errno));
  }
  child_ = fork();
  if (child_ < 0) throw Failure("cannot start {}: {}", python, strerror(errno));
  if (child_ == 0) {
    dup2(request[0], STDIN_FILENO);
    dup2(answer[1], STDOUT_FILENO);
    for (const int fd : {request[0], request[1], answer[0], answer[1]}) close(fd);
    std::vector<const char*> words = {python.c_str(), "-c", kScript, library.c_str(), o.special ? "1" : "0", preset.c_str()};
    for (const std::string& file : files) words.push_back(file.c_str());
    words.push_back(nullptr);
    execvp(python.c_str(), const_cast<char* const*>(words.data()));
    const std::string line =
        fmt::format("error cannot run {}: {} (--python chooses another interpreter)\n", python,
                    strerror(errno));
    (void)!write(STDOUT_FILENO, line.data(), line.size());
    _exit(127);
  }
  close(request[0]);
  close(answer[1]);
  to_ = fdopen(request[1], "wb");
  from_ = fdopen(answer[0], "rb");
  if (to_ == nullptr || from_ == nullptr) throw Failure("cannot open a pipe");
  const std::string line = ReadLine();
  if (line.rfind("ok ", 0) == 0) {
    version_ = line.substr(3);
  } else if (line.rfind("error ", 0) == 0) {
    throw Failure("reference {}: {}", library, line.substr(6));
  } else {
    throw Failure("{} answered \"{}\"", python, line);
  }
}

Oracle::~Oracle() {
  if (to_ != nullptr) std::fclose(to_);  // its end of input ends the child
  if (from_ != nullptr) std::fclose(from_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

void Oracle::Ended() {
  throw Failure("{} ended before it had answered", python_);
}

std::string Oracle::ReadLine() {
  std::string line;
  for (int c; (c = std::fgetc(from_)) != '\n';) {
    if (c == EOF) Ended();
    line += static_cast<char>(c);
  }
  return line;
}

void Oracle::Read(void* out, size_t size) {
  if (std::fread(out, 1, size, from_) != size) Ended();
}

void Oracle::Write(const void* data, size_t size) {
  if (std::fwrite(data, 1, size, to_) != size) Ended();
}

std::vector<std::vector<int32_t>> Oracle::Encode(const std::vector<std::string>& texts) {
  const auto count = static_cast<uint32_t>(texts.size());
  std::vector<uint32_t> sizes;
  for (const std::string& text : texts) sizes.push_back(static_cast<uint32_t>(text.size()));
  Write(&count, sizeof(count));
  Write(sizes.data(), sizes.size() * sizeof(uint32_t));
  for (const std::string& text : texts) Write(text.data(), text.size());
  if (std::fflush(to_) != 0) Ended();
  Read(sizes.data(), sizes.size() * sizeof(uint32_t));
  std::vector<std::vector<int32_t>> ids(count);
  for (uint32_t i = 0; i < count; ++i) {
    ids[i].resize(sizes[i]);
    Read(ids[i].data(), ids[i].size() * sizeof(int32_t));
  }
  return ids;
}

}  // namespace rankfeed::cli
