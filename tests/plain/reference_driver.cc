// SPDX-License-Identifier: MIT
// plain/reference_driver.cc: the plain references behind pipes, so that tests/oracle can pin
// them to the wheels. Framing: support/pipe.h, requests of u32 command and a frame.
//   'C' charsmap  char blob[]                                            -> -
//   'H' hf model  i32 unk_id (-1: none), u32 byte_fallback, u32 n, n x {f64 score, u32 size, text}
//   'h' encode    u32 n, u32 size[n], text[]  -> u32 count[n] (ffffffff: no unknown id), u32 ids[],
//                                                u32 begin[], u32 end[]
//   'S' sp model  u32 flags (1 dummy prefix, 2 remove spaces, 4 escape, 8 suffix, 16 byte
//   fallback),
//                 u32 n, n x {f32 score, u32 kind, u32 size, text}
//   's' encode    as 'h'
//   'N' normalize u32 operation, u32 x, u32 y, u32 size, text a, u32 size, text b, u32 n, u32
//                 size[n], text[]             -> u32 size[n], text[]
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plain/hf_normalize.h"
#include "plain/hf_unigram.h"
#include "plain/sp_unigram.h"
#include "support/pipe.h"

namespace rankfeed::plain {
namespace {

using test::Die;

class Reader : public test::FrameReader {
 public:
  using FrameReader::FrameReader;
  std::string Text() {
    const uint32_t size = U32();
    return std::string(Bytes(size));
  }
  std::vector<std::string> Texts() {
    std::vector<uint32_t> sizes(U32());
    for (uint32_t& size : sizes) size = U32();
    std::vector<std::string> texts;
    for (const uint32_t size : sizes) texts.emplace_back(Bytes(size));
    return texts;
  }
};

struct Answer {
  std::vector<uint32_t> counts, ids, begin, end;
  std::string Bytes() const {
    std::string out;
    for (const auto* column : {&counts, &ids, &begin, &end}) {
      out.append(reinterpret_cast<const char*>(column->data()), column->size() * 4);
    }
    return out;
  }
  template <typename Tokens>
  void Add(const Tokens& tokens) {
    counts.push_back(static_cast<uint32_t>(tokens.size()));
    for (const auto& token : tokens) {
      ids.push_back(token.id);
      begin.push_back(token.begin);
      end.push_back(token.end);
    }
  }
};

class Driver {
 public:
  std::string Run(uint32_t command, std::string_view payload) {
    Reader in(payload);
    switch (command) {
      case 'C':
        charsmap_ = CharsmapRules(payload);
        return {};
      case 'H':
        return LoadHf(in);
      case 'S':
        return LoadSp(in);
      case 'h':
        return EncodeHf(in);
      case 's':
        return EncodeSp(in);
      case 'N':
        return Normalize(in);
      default:
        Die("unknown command");
    }
  }

 private:
  std::string LoadHf(Reader& in) {
    const int32_t unk_id = in.Number<int32_t>();
    const bool byte_fallback = in.U32() != 0;
    std::vector<std::pair<std::string, double>> pieces(in.U32());
    for (auto& [text, score] : pieces) {
      score = in.Number<double>();
      text = in.Text();
    }
    hf_ = std::make_unique<HfUnigram>(
        pieces, unk_id < 0 ? std::nullopt : std::optional<uint32_t>(unk_id), byte_fallback);
    return {};
  }

  std::string LoadSp(Reader& in) {
    SpModel model;
    const uint32_t flags = in.U32();
    model.add_dummy_prefix = flags & 1;
    model.remove_extra_whitespaces = flags & 2;
    model.escape_whitespaces = flags & 4;
    model.treat_whitespace_as_suffix = flags & 8;
    model.byte_fallback = flags & 16;
    model.release = flags & 32 ? SpRelease::k0_2_1 : SpRelease::k0_2_2;
    model.charsmap = charsmap_;
    model.pieces.resize(in.U32());
    for (SpPiece& piece : model.pieces) {
      piece.score = in.Number<float>();
      piece.kind = static_cast<SpKind>(in.U32());
      piece.text = in.Text();
    }
    sp_ = std::make_unique<SpUnigram>(std::move(model));
    return {};
  }

  std::string EncodeHf(Reader& in) {
    Answer answer;
    for (const std::string& text : in.Texts()) {
      if (const auto tokens = hf_->Encode(text)) {
        answer.Add(*tokens);
      } else {
        answer.counts.push_back(0xffffffffu);
      }
    }
    return answer.Bytes();
  }

  std::string EncodeSp(Reader& in) {
    Answer answer;
    for (const std::string& text : in.Texts()) answer.Add(sp_->Encode(text));
    return answer.Bytes();
  }

  std::string Normalize(Reader& in) {
    const uint32_t operation = in.U32(), x = in.U32(), y = in.U32();
    const std::string a = in.Text(), b = in.Text();
    const auto apply = [&](const std::string& text) -> std::string {
      switch (operation) {
        case 0:
          return Precompiled(charsmap_, text);
        case 1:
          return NormalizationForm(static_cast<Form>(x), text);
        case 2:
          return Lowercase(text);
        case 3:
          return StripAccents(text);
        case 4:
          return Nmt(text);
        case 5:
          return Strip(text, x != 0, y != 0);
        case 6:
          return Prepend(text, a);
        case 7:
          return ReplaceAll(text, a, b);
        case 8:
          return ReplaceSpaceRuns(text, x, b);
        case 9:
          return ReplaceWhitespaceRuns(text, b);
        default:
          Die("unknown operation");
      }
    };
    std::vector<uint32_t> sizes;
    std::string texts;
    for (const std::string& text : in.Texts()) {
      const std::string out = apply(text);
      sizes.push_back(static_cast<uint32_t>(out.size()));
      texts += out;
    }
    return std::string(reinterpret_cast<const char*>(sizes.data()), sizes.size() * 4) + texts;
  }

  CharsmapRules charsmap_;
  std::unique_ptr<HfUnigram> hf_;
  std::unique_ptr<SpUnigram> sp_;
};

}  // namespace
}  // namespace rankfeed::plain

int main() {
  rankfeed::plain::Driver driver;
  rankfeed::test::AnswerRequests(
      [&](uint32_t command, std::string_view payload) { return driver.Run(command, payload); });
}
