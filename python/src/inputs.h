// SPDX-License-Identifier: MIT
// python/src/inputs.h: what callers give as texts and documents, read where it lies: str, bytes,
// columns of Arrow (pyarrow, pandas, polars), and arrays of ids.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrow.h"
#include "memory.h"

namespace rankfeed::python {

// What becomes of text that is no valid Unicode: lone surrogates in a str, bytes that are not
// UTF-8. kReference: as the reference does: a str is refused, bytes are replaced as the
// vocabulary's parity says. kError: refused. kReplace: U+FFFD for each surrogate; bytes as with
// kReference.
enum class InvalidText : uint32_t { kReference = 0, kError = 1, kReplace = 2 };

// Ids of a document, in memory of NumPy or of any DLPack framework.
using Ids = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Texts and ids of one call, in order, with all that keeps their bytes alive. What cannot be taken
// is an exception that names the argument and the place in it. Every call needs the GIL; reading
// texts() and sources() does not.
class Inputs {
 public:
  // id_count: of the vocabulary; ids must be below it.
  Inputs(InvalidText policy, uint32_t id_count) : policy_(policy), id_count_(id_count) {}
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  // One text, the argument `name`; with `ids` also an array of ids.
  void Add(nb::handle object, const char* name, bool ids) { AddItem(object, {name, -1}, ids); }
  // All of a sequence: a list, a tuple, a column of Arrow, or anything that can be iterated over.
  void AddAll(nb::handle sequence, const char* name, bool ids);

  size_t size() const { return text_of_.size(); }
  const std::vector<rankfeed_text>& texts() const { return texts_; }
  // Of input i its text's number, or -1 where it is ids, which are sources()[i].
  int64_t text_of(size_t i) const { return text_of_[i]; }
  const rankfeed_source& source(size_t i) const { return sources_[i]; }
  // Lets go of the texts, once they are tokenized; ids stay. Needs the GIL.
  void DropTexts();

 private:
  struct Place {
    const char* name;
    int64_t index;  // -1: the argument itself
    std::string Words() const;
  };
  void AddItem(nb::handle object, Place place, bool ids);
  void AddString(nb::handle object, Place place);
  void AddBytes(rankfeed_text text, Place place);
  void AddIds(nb::handle object, Place place);
  bool AddArrow(nb::handle sequence, const char* name);
  void Push(rankfeed_text text);
  [[noreturn]] void Refuse(nb::handle object, Place place, bool ids) const;

  InvalidText policy_;
  uint32_t id_count_;
  std::vector<rankfeed_text> texts_;
  std::vector<rankfeed_source> sources_;
  std::vector<int64_t> text_of_;
  std::vector<nb::object> kept_;
  std::vector<Ids> arrays_;
  std::vector<std::unique_ptr<int32_t[]>> copies_;  // of ids of 64 bits
  std::vector<std::unique_ptr<ArrowColumn>> columns_;
};

}  // namespace rankfeed::python
