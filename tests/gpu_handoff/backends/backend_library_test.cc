// SPDX-License-Identifier: MIT
// Backends by name; those that were built are found by tests/fake_gpu and the device test.
#include "backends/backend_library.h"

#include <gtest/gtest.h>

namespace rankfeed::handoff {
namespace {

TEST(BackendLibrary, HostIsAlwaysThere) {
  const FoundBackend found = FindBackend("host", {});
  EXPECT_EQ(found.backend, rankfeed_handoff_host_backend());
  EXPECT_EQ(found.status, RANKFEED_OK);
}

TEST(BackendLibrary, NameThatNoBackendHasIsAnsweredWithThoseThereAre) {
  for (const char* name : {"", "nonsense", "Host", "../cuda"}) {
    const FoundBackend found = FindBackend(name, {});
    EXPECT_EQ(found.backend, nullptr) << name;
    EXPECT_EQ(found.status, RANKFEED_E_UNSUPPORTED) << name;
    EXPECT_EQ(found.message,
              "there is no backend '" + std::string(name) + "'; there are: host, cuda, hip");
  }
}

}  // namespace
}  // namespace rankfeed::handoff
