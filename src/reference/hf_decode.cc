// SPDX-License-Identifier: MIT
// reference/hf_decode.cc: the decoder steps as a chain of stages that pass on bytes and token ends.
//
// The reference hands a list of strings from step to step; here each step is a small automaton that
// sees the strings as they come, so nothing is stored except a run of byte tokens, whose text is
// known only at its end (decoders/{metaspace,byte_fallback,fuse,strip,wordpiece}.rs and
// normalizers/replace.rs, tokenizers 0.23.2).
#include "reference/hf_decode.h"

#include <cstring>
#include <string_view>

#include "base/byte_alphabet.h"
#include "base/narrow.h"
#include "base/utf8.h"
#include "image/format.h"

namespace rankfeed::reference {
namespace {

using Op = image::DecoderOp;

constexpr std::string_view kReplacementChar = "\xef\xbf\xbd";

// State of one step, meaning by op.
struct Stage {
  Op op;
  uint32_t arg0 = 0, arg1 = 0;
  std::string_view a, b;
  uint32_t token = 0;    // tokens that ended so far
  // Replace and WordPiece: bytes of a matched so far; strip: characters held back.
  uint32_t matched = 0;
  uint32_t leading = 0;  // strip: characters cut off the front of this token
  bool inside = false;   // strip and WordPiece: past the front of this token
  // byte fallback; ByteLevel: the character so far
  char held[6] = {};  // the token so far, while it may be <0xHH>
  uint32_t held_size = 0;
  bool plain = false;   // the token is not a byte
  char* run = nullptr;  // bytes of the byte tokens before
  uint32_t run_size = 0, run_capacity = 0;
};

// Value of <0xHH>, or -1. Rust's from_str_radix also takes a plus sign: <0x+5>.
int ByteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  const int high = token[3] == '+' ? 0 : digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

class Chain {
 public:
  Chain(char* out, size_t capacity) : out_(out), capacity_(capacity) {}

  bool Add(const Model& model, const image::Step& step, Scratch& scratch) {
    if (count_ == kMaxDecoderSteps) return false;
    Stage& s = stages_[count_++];
    s.op = Op{step.op};
    s.arg0 = step.arg0;
    s.arg1 = step.arg1;
    s.a = model.text(step.a);
    s.b = model.text(step.b);
    if (s.op == Op::kByteFallbackDecode) {
      if (runs_ == 2) return false;
      s.run = scratch.text[runs_++];
      s.run_capacity = scratch.run_capacity;
    }
    return true;
  }

  void Token(std::string_view text) {
    Bytes(0, text);
    EndToken(0);
  }

  void Separator() { Write(" "); }  // between tokens when the model has no decoder

  void Finish() {
    for (uint32_t i = 0; i < count_; ++i) {
      if (stages_[i].op == Op::kByteFallbackDecode) FlushRun(i);
      // join("") of any list is one token, even of an empty one
      if (stages_[i].op == Op::kByteLevelDecode && stages_[i].held_size != 0) {
        Bytes(i + 1, kReplacementChar);
      }
      if (JoinsTokens(stages_[i].op)) EndToken(i + 1);
    }
  }

  size_t size() const { return size_; }

 private:
  // Whether the step makes one token of all.
  static bool JoinsTokens(Op op) { return op == Op::kFuse || op == Op::kByteLevelDecode; }

  void Write(std::string_view text) {
    if (size_ < capacity_) {
      std::memcpy(out_ + size_, text.data(), std::min(text.size(), capacity_ - size_));
    }
    size_ += text.size();
  }

  // A part of the current token enters step i.
  void Bytes(uint32_t i, std::string_view text) {
    if (text.empty()) return;
    if (i == count_) return Write(text);
    Stage& s = stages_[i];
    switch (s.op) {
      case Op::kMetaspaceDecode:
      case Op::kReplaceDecode:
        for (const char c : text) ReplaceByte(i, c);
        return;
      case Op::kByteFallbackDecode:
        return FallbackBytes(i, text);
      case Op::kStripDecode:
        for (const char c : text) StripByte(i, c);
        return;
      case Op::kWordPieceDecode:
        return PrefixBytes(i, text);
      case Op::kByteLevelDecode:
        return SpelledBytes(i, text);
      case Op::kFuse:
        break;
    }
    return Bytes(i + 1, text);
  }

  void EndToken(uint32_t i) {
    if (i == count_) return;
    Stage& s = stages_[i];
    switch (s.op) {
      case Op::kMetaspaceDecode:
      case Op::kReplaceDecode:
        Bytes(i + 1, s.a.substr(0, s.matched));
        s.matched = 0;
        ++s.token;
        return EndToken(i + 1);
      case Op::kByteFallbackDecode:
        return FallbackEnd(i);
      case Op::kFuse:
      case Op::kByteLevelDecode:
        return;
      case Op::kStripDecode:
        StripEnd(i);
        break;
      case Op::kWordPieceDecode:
        if (!IsPastPrefix(s)) PrefixMissing(i);
        s.inside = false;
        s.matched = 0;
        ++s.token;
        break;
    }
    return EndToken(i + 1);
  }

  // Returns what a match of a becomes. Metaspace: nothing in token 0, unless "never"; else a space.
  static std::string_view Content(const Stage& s) {
    if (s.op == Op::kReplaceDecode) return s.b;
    return s.token == 0 && s.arg0 != image::kPrependNever ? "" : " ";
  }

  // Leftmost, non-overlapping matches of s.a, a byte at a time: s.matched bytes of a are held.
  void ReplaceByte(uint32_t i, char c) {
    Stage& s = stages_[i];
    // While c does not go on with the match, give up as few held bytes as leave a prefix of a.
    while (s.matched > 0 && s.a[s.matched] != c) {
      uint32_t keep = s.matched - 1;
      while (keep > 0 &&
             s.a.substr(0, keep) != std::string_view(s.a.data() + (s.matched - keep), keep))
        --keep;
      Bytes(i + 1, s.a.substr(0, s.matched - keep));
      s.matched = keep;
    }
    if (s.a[s.matched] != c) return Bytes(i + 1, {&c, 1});
    if (++s.matched < s.a.size()) return;
    s.matched = 0;
    Bytes(i + 1, Content(s));
  }

  void FallbackBytes(uint32_t i, std::string_view text) {
    Stage& s = stages_[i];
    if (!s.plain && text.size() <= sizeof(s.held) - s.held_size) {
      std::memcpy(s.held + s.held_size, text.data(), text.size());
      s.held_size += Size32(text);
      return;
    }
    FallbackPlain(i);
    Bytes(i + 1, text);
  }

  // The token is not a byte: what was held of it goes on, after the run before it.
  void FallbackPlain(uint32_t i) {
    Stage& s = stages_[i];
    if (s.plain) return;
    FlushRun(i);
    s.plain = true;
    Bytes(i + 1, {s.held, s.held_size});
  }

  void FallbackEnd(uint32_t i) {
    Stage& s = stages_[i];
    const int byte = s.plain ? -1 : ByteOf({s.held, s.held_size});
    if (byte >= 0 && s.run_size < s.run_capacity) {
      s.run[s.run_size++] = static_cast<char>(byte);
    } else {
      FallbackPlain(i);
      EndToken(i + 1);
    }
    s.held_size = 0;
    s.plain = false;
  }

  // A run of bytes is one token when it is valid UTF-8, else one U+FFFD for each byte.
  void FlushRun(uint32_t i) {
    Stage& s = stages_[i];
    const uint32_t n = s.run_size;
    s.run_size = 0;
    if (n == 0) return;
    if (utf8::IsValid({s.run, n})) {
      Bytes(i + 1, {s.run, n});
      return EndToken(i + 1);
    }
    for (uint32_t k = 0; k < n; ++k) {
      Bytes(i + 1, kReplacementChar);
      EndToken(i + 1);
    }
  }

  // A whole token, as the step comes first: the bytes that it spells, or where a character is none of
  // the alphabet its own (decoders of pre_tokenizers/byte_level.rs).
  void SpelledBytes(uint32_t i, std::string_view token) {
    bool spells = true;
    for (size_t at = 0; at < token.size() && spells;) {
      const utf8::Decoded c = utf8::Decode(token, at);
      spells = kByteAlphabet.ByteOf(c.code_point) >= 0;
      at += c.size;
    }
    for (size_t at = 0; at < token.size();) {
      const utf8::Decoded c = utf8::Decode(token, at);
      if (spells) LossyByte(i, static_cast<char>(kByteAlphabet.ByteOf(c.code_point)));
      for (uint32_t k = 0; !spells && k < c.size; ++k) LossyByte(i, token[at + k]);
      at += c.size;
    }
  }

  // The next byte of a text in which each maximal part of a character becomes U+FFFD.
  void LossyByte(uint32_t i, char byte) {
    Stage& s = stages_[i];
    s.held[s.held_size++] = byte;
    while (s.held_size != 0) {
      const utf8::Decoded c = utf8::Decode({s.held, s.held_size}, 0);
      const auto lead = Byte(s.held[0]);
      const uint32_t whole = lead < 0xc2 || lead > 0xf4 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      if (!c.valid && c.size == s.held_size && whole > s.held_size) return;  // may go on
      Bytes(i + 1, c.valid ? std::string_view(s.held, c.size) : kReplacementChar);
      s.held_size -= c.size;
      std::memmove(s.held, s.held + c.size, s.held_size);
    }
  }

  // Cuts up to arg0 characters a off the front of a token and up to arg1 off its end. Characters a
  // that may turn out to be the end are only counted.
  void StripByte(uint32_t i, char c) {
    Stage& s = stages_[i];
    // held_size counts the bytes of a character a that have come so far.
    if (c == s.a[s.held_size]) {
      if (++s.held_size < s.a.size()) return;
      s.held_size = 0;
      if (!s.inside && s.leading < s.arg0) {
        ++s.leading;
      } else {
        s.inside = true;
        ++s.matched;
      }
      return;
    }
    // Another character. If it shares its first bytes with a, those were held back; a later byte of
    // a character never begins one, so c is not the start of a.
    StripRelease(i, s.matched);
    const uint32_t part = s.held_size;
    s.held_size = 0;
    s.inside = true;
    Bytes(i + 1, s.a.substr(0, part));
    Bytes(i + 1, {&c, 1});
  }

  void StripRelease(uint32_t i, uint32_t count) {
    Stage& s = stages_[i];
    for (uint32_t k = 0; k < count; ++k) Bytes(i + 1, s.a);
    s.matched = 0;
  }

  void StripEnd(uint32_t i) {
    Stage& s = stages_[i];
    StripRelease(i, s.matched > s.arg1 ? s.matched - s.arg1 : 0);
    s.leading = 0;
    s.inside = false;
  }

  // Takes, of a token after the first one, the prefix a off its front or puts a space before it.
  static bool IsPastPrefix(const Stage& s) { return s.inside || s.token == 0 || s.a.empty(); }

  void PrefixBytes(uint32_t i, std::string_view text) {
    Stage& s = stages_[i];
    while (!IsPastPrefix(s) && !text.empty()) {
      if (text[0] != s.a[s.matched]) {
        PrefixMissing(i);
      } else {
        text.remove_prefix(1);
        s.inside = ++s.matched == s.a.size();
      }
    }
    Bytes(i + 1, text);
  }

  void PrefixMissing(uint32_t i) {
    Stage& s = stages_[i];
    s.inside = true;
    Bytes(i + 1, " ");
    Bytes(i + 1, s.a.substr(0, s.matched));
  }

  char* const out_;
  const size_t capacity_;
  size_t size_ = 0;
  Stage stages_[kMaxDecoderSteps] = {};
  uint32_t count_ = 0;
  uint32_t runs_ = 0;
};

// The added token with this id; null when there is none.
const image::AddedToken* FindAdded(const Model& model, uint32_t id) {
  const std::span<const image::AddedToken> tokens = model.added_tokens;
  if (tokens.empty()) return nullptr;
  const uint32_t first = tokens.front().id;  // lists are in id order as a rule
  if (id >= first && id - first < tokens.size() && tokens[id - first].id == id) {
    return &tokens[id - first];
  }
  for (const image::AddedToken& token : tokens) {
    if (token.id == id) return &token;
  }
  return nullptr;
}

bool IsSpecialContent(const Model& model, std::string_view text) {
  for (const image::AddedToken& token : model.added_tokens) {
    if ((token.flags & image::kSpecial) != 0 && model.text(token.content) == text) return true;
  }
  return false;
}

}  // namespace

rankfeed_status DecodeHuggingFace(const Model& model, Scratch& scratch,
                                  std::span<const int32_t> ids, bool skip_special, char* out,
                                  size_t capacity, size_t* size) {
  *size = 0;
  Chain chain(out, capacity);
  for (const image::Step& step : model.decoder) {
    const bool runs = step.Is(Op::kByteFallbackDecode);
    if (runs && ids.size() > scratch.run_capacity) return RANKFEED_E_LIMIT;
    if (!chain.Add(model, step, scratch)) return RANKFEED_E_UNSUPPORTED;
  }
  bool first = true;
  for (const int32_t signed_id : ids) {
    const auto id = static_cast<uint32_t>(signed_id);
    if (id >= model.config->id_count) continue;
    const uint8_t flags = model.id_flags[id];
    if ((flags & image::kIdTypeMask) == static_cast<uint8_t>(image::PieceType::kUnused)) continue;
    std::string_view text = model.piece(id);
    bool special = (flags & image::kIdSpecial) != 0;
    if ((flags & image::kIdAdded) != 0) {
      const image::AddedToken* token = FindAdded(model, id);
      if (token != nullptr && (token->flags & image::kNormalized) != 0) {
        // simple_id_to_token gives the normalized form, and "special" is asked of that string.
        text = model.text(token->normalized);
        special = IsSpecialContent(model, text);
      }
    }
    if (special && skip_special) continue;
    if (model.decoder.empty() && !first) chain.Separator();
    first = false;
    chain.Token(text);
  }
  chain.Finish();
  *size = chain.size();
  return chain.size() > capacity ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK;
}

}  // namespace rankfeed::reference
