// SPDX-License-Identifier: MIT
// python/src/module.cc: rankfeed._core, the extension of the package. Python sees it through
// python/rankfeed/*.py.
#include <nanobind/nanobind.h>

#include "encodings.h"
#include "memory.h"
#include "rankfeed/version.h"

namespace nb = nanobind;

namespace rankfeed::python {
void BindFolder(nb::module_& module);
}

NB_MODULE(_core, module) {
  module.doc() = "Extension of the rankfeed package; use `import rankfeed`.";
  module.attr("__version__") = rankfeed_version_string();
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const rankfeed::python::StatusError& error) {
      const nb::object type = nb::module_::import_("rankfeed._errors").attr("RankfeedError");
      const nb::object value = type(error.what(), error.status, rankfeed_status_name(error.status));
      PyErr_SetObject(type.ptr(), value.ptr());
    }
  });
  rankfeed::python::BindMemory(module);
  rankfeed::python::BindModel(module);
  rankfeed::python::BindFolder(module);
  rankfeed::python::BindStream(module);
  rankfeed::python::BindCorpus(module);
  rankfeed::python::BindRing(module);
  rankfeed::python::BindRows(module);
  rankfeed::python::BindEncodings(module);
  rankfeed::python::BindTemplate(module);
  rankfeed::python::BindRequest(module);
#ifdef RANKFEED_WITH_CROSSENCODER
  rankfeed::python::BindCrossEncoder(module);
#endif
}
