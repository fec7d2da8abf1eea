// SPDX-License-Identifier: MIT
// platform/place_test.cc: an image on the largest pages there are, alone and shared with another
// process; what is reported is what the kernel's own books say.
#include "platform/place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "rankfeed/model.h"

namespace rankfeed::platform {
namespace {

std::vector<unsigned char> Bytes(size_t size) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return bytes;
}

rankfeed_placement Report() {
  rankfeed_placement report{};
  report.struct_size = sizeof(report);
  return report;
}

// Asks the kernel to write there, which tells without a signal.
bool Writable(void* at) {
  const int zero = open("/dev/zero", O_RDONLY);
  const ssize_t got = read(zero, at, 1);
  close(zero);
  return got == 1;
}

void ExpectConsistent(const rankfeed_mapping& mapping, const rankfeed_placement& report) {
  ASSERT_GE(report.pages, uint32_t{RANKFEED_PAGES_HUGETLB});
  ASSERT_LE(report.pages, uint32_t{RANKFEED_PAGES_BASE});
  EXPECT_EQ(report.hugetlb_error == 0, report.pages == RANKFEED_PAGES_HUGETLB);
  if (report.pages == RANKFEED_PAGES_TRANSPARENT) {
    EXPECT_EQ(report.transparent_error, 0);
    EXPECT_GT(report.huge_bytes, 0u);
  }
  if (report.pages == RANKFEED_PAGES_BASE) {
    EXPECT_NE(report.transparent_error, 0);
    EXPECT_EQ(mapping.page_size_obtained, static_cast<uint32_t>(PageSize()));
  }
  EXPECT_GE(mapping.base_size, mapping.size);
}

TEST(Place, CopiesEverySizeReadOnly) {
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{4097}, kHugePage - 1, kHugePage, 3 * kHugePage + 5}) {
    const auto bytes = Bytes(size);
    rankfeed_mapping mapping{};
    rankfeed_placement report = Report();
    ASSERT_EQ(rankfeed_image_place(bytes.data(), size, 0, &mapping, &report, nullptr), RANKFEED_OK);
    EXPECT_EQ(std::memcmp(mapping.data, bytes.data(), size), 0);
    EXPECT_EQ(mapping.size, size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping.data) % 4096, 0u);
    EXPECT_EQ(report.fd, -1);
    ExpectConsistent(mapping, report);
    EXPECT_FALSE(Writable(mapping.base));
    rankfeed_image_unmap(&mapping);
    EXPECT_EQ(mapping.base, nullptr);
  }
}

// A file of those bytes, gone with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<unsigned char>& bytes) {
    const int fd = mkstemp(path_);
    written_ = fd >= 0 && write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    close(fd);
  }
  ~TemporaryFile() { unlink(path_); }
  const char* path() const { return path_; }
  bool written() const { return written_; }

 private:
  char path_[32] = "/tmp/rankfeed-place-XXXXXX";
  bool written_ = false;
};

// What was asked for, of a step of the ladder that may be missing here: obtained, or the reason why not.
void ExpectAsked(uint32_t pages, const rankfeed_mapping& mapping, const rankfeed_placement& report) {
  if (pages == RANKFEED_PAGES_FILE) {
    EXPECT_EQ(report.pages, uint32_t{RANKFEED_PAGES_FILE});
    EXPECT_EQ(report.hugetlb_error, ECANCELED);
    EXPECT_EQ(report.transparent_error, ECANCELED);
    return;
  }
  ExpectConsistent(mapping, report);
  EXPECT_FALSE(Writable(mapping.base));
  EXPECT_EQ(report.hugetlb_error == ECANCELED,
            pages == RANKFEED_PAGES_TRANSPARENT || pages == RANKFEED_PAGES_BASE);
  if (pages != RANKFEED_PAGES_BASE) return;
  EXPECT_EQ(report.pages, uint32_t{RANKFEED_PAGES_BASE});
  EXPECT_EQ(report.transparent_error, ECANCELED);
  EXPECT_EQ(HugeBytes(mapping.data, mapping.size), 0u);
}

TEST(Place, OpensAFileOnThePagesAskedFor) {
  const auto bytes = Bytes(2 * kHugePage + 77);
  const TemporaryFile file(bytes);
  ASSERT_TRUE(file.written());
  for (uint32_t pages = RANKFEED_PAGES_AUTO; pages <= RANKFEED_PAGES_FILE; ++pages) {
    SCOPED_TRACE(rankfeed_pages_name(pages));
    rankfeed_mapping mapping{};
    rankfeed_placement report = Report();
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    const rankfeed_status status = rankfeed_image_open(file.path(), pages, &mapping, &report, &detail);
    if (pages == RANKFEED_PAGES_HUGETLB && status == RANKFEED_E_IO) {  // none are preallocated here
      EXPECT_EQ(detail.item, static_cast<uint32_t>(ENOMEM));
      EXPECT_EQ(mapping.base, nullptr);
      continue;
    }
    ASSERT_EQ(status, RANKFEED_OK);
    ASSERT_EQ(mapping.size, bytes.size());
    EXPECT_EQ(std::memcmp(mapping.data, bytes.data(), bytes.size()), 0);
    ExpectAsked(pages, mapping, report);
    rankfeed_image_unmap(&mapping);
  }
}

TEST(Place, WhatIsReadOfAFileDoesNotChangeWithIt) {
  const auto bytes = Bytes(5000);
  const TemporaryFile file(bytes);
  ASSERT_TRUE(file.written());
  rankfeed_mapping copy{}, mapped{};
  ASSERT_EQ(rankfeed_image_open(file.path(), RANKFEED_PAGES_AUTO, &copy, nullptr, nullptr), RANKFEED_OK);
  ASSERT_EQ(rankfeed_image_open(file.path(), RANKFEED_PAGES_FILE, &mapped, nullptr, nullptr), RANKFEED_OK);
  const int fd = open(file.path(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "changed", 7, 0), 7);
  close(fd);
  EXPECT_EQ(std::memcmp(copy.data, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(std::memcmp(mapped.data, "changed", 7), 0);
  rankfeed_image_unmap(&copy);
  rankfeed_image_unmap(&mapped);
}

TEST(Place, FilesThatCannotBeOpened) {
  rankfeed_mapping mapping{};
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  for (uint32_t pages = RANKFEED_PAGES_AUTO; pages <= RANKFEED_PAGES_FILE; ++pages) {
    EXPECT_EQ(rankfeed_image_open("/nowhere/at all", pages, &mapping, nullptr, &detail), RANKFEED_E_IO);
    EXPECT_EQ(detail.item, static_cast<uint32_t>(ENOENT));
    EXPECT_EQ(rankfeed_image_open("/tmp", pages, &mapping, nullptr, &detail), RANKFEED_E_IO);
    EXPECT_EQ(detail.item, static_cast<uint32_t>(EINVAL));
    EXPECT_EQ(rankfeed_image_open(nullptr, pages, &mapping, nullptr, nullptr), RANKFEED_E_ARGUMENT);
    EXPECT_EQ(rankfeed_image_open("/tmp", pages, nullptr, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  }
  EXPECT_EQ(rankfeed_image_open("/tmp", RANKFEED_PAGES_FILE + 1, &mapping, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  rankfeed_placement report{};
  EXPECT_EQ(rankfeed_image_open("/tmp", 0, &mapping, &report, nullptr), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(rankfeed_pages_name(RANKFEED_PAGES_FILE + 1), nullptr);
}

TEST(Place, HugeBytesAreThoseOfTheRangeOnly) {
  const size_t size = 4 * kHugePage;
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(base, MAP_FAILED);
  ASSERT_EQ(madvise(base, size, MADV_NOHUGEPAGE), 0);
  std::memset(base, 1, size);
  EXPECT_EQ(HugeBytes(base, size), 0u);
  munmap(base, size);
  EXPECT_EQ(HugeBytes(reinterpret_cast<void*>(4096), 1), kUnknownBytes);  // in no mapping
}

TEST(Place, SharedCopyIsSealedAndReadByAnotherProcess) {
  const size_t size = 2 * kHugePage + 100;
  const auto bytes = Bytes(size);
  rankfeed_mapping mapping{};
  rankfeed_placement report = Report();
  ASSERT_EQ(rankfeed_image_place(bytes.data(), size, RANKFEED_PLACE_SHARED, &mapping, &report, nullptr), RANKFEED_OK);
  EXPECT_EQ(std::memcmp(mapping.data, bytes.data(), size), 0);
  ExpectConsistent(mapping, report);
  ASSERT_GE(report.fd, 0);
  EXPECT_EQ(write(report.fd, "x", 1), -1);
  EXPECT_EQ(errno == EPERM || errno == EINVAL, true) << errno;  // hugetlbfs has no write
  EXPECT_EQ(ftruncate(report.fd, 0), -1);
  EXPECT_EQ(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, report.fd, 0), MAP_FAILED);

  const pid_t child = fork();
  if (child == 0) {
    rankfeed_mapping other{};
    const bool same = rankfeed_image_map_fd(report.fd, size, &other, nullptr) == RANKFEED_OK && other.size == size &&
                      std::memcmp(other.data, bytes.data(), size) == 0;
    rankfeed_image_unmap(&other);
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(report.fd);
  EXPECT_EQ(std::memcmp(mapping.data, bytes.data(), size), 0);  // the mapping holds the memory
  rankfeed_image_unmap(&mapping);
}

TEST(Place, MapsAFileFromAnyOffsetOfItsDescriptor) {
  char path[] = "/tmp/rankfeed-place-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  unlink(path);
  const auto bytes = Bytes(10000);
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  rankfeed_mapping mapping{};
  ASSERT_EQ(rankfeed_image_map_fd(fd, 0, &mapping, nullptr), RANKFEED_OK);
  EXPECT_EQ(mapping.size, bytes.size());
  EXPECT_EQ(std::memcmp(mapping.data, bytes.data(), bytes.size()), 0);
  rankfeed_image_unmap(&mapping);
  EXPECT_EQ(rankfeed_image_map_fd(fd, bytes.size() + 1, &mapping, nullptr), RANKFEED_E_ARGUMENT);
  close(fd);
}

TEST(Place, Refusals) {
  rankfeed_mapping mapping{};
  rankfeed_placement report = Report();
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  const char byte = 0;
  EXPECT_EQ(rankfeed_image_place(nullptr, 1, 0, &mapping, &report, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_image_place(&byte, 0, 0, &mapping, &report, nullptr), RANKFEED_E_ARGUMENT);
  for (const uint32_t flags : {16u, uint32_t{RANKFEED_PLACE_HUGETLB | RANKFEED_PLACE_BASE},
                               uint32_t{RANKFEED_PLACE_TRANSPARENT | RANKFEED_PLACE_BASE}}) {
    EXPECT_EQ(rankfeed_image_place(&byte, 1, flags, &mapping, &report, nullptr), RANKFEED_E_ARGUMENT);
  }
  EXPECT_EQ(rankfeed_image_place(&byte, 1, RANKFEED_PLACE_SHARED, &mapping, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  report.struct_size = 1;
  EXPECT_EQ(rankfeed_image_place(&byte, 1, 0, &mapping, &report, nullptr), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(rankfeed_image_map_fd(-1, 0, &mapping, nullptr), RANKFEED_E_ARGUMENT);
  const int closed = dup(0);
  close(closed);
  EXPECT_EQ(rankfeed_image_map_fd(closed, 0, &mapping, &detail), RANKFEED_E_IO);
  EXPECT_EQ(detail.item, static_cast<uint32_t>(EBADF));
  EXPECT_EQ(mapping.base, nullptr);
}

}  // namespace
}  // namespace rankfeed::platform
