# SPDX-License-Identifier: MIT
"""rankfeed for Conan 2, from the source tree that this file lies in:

    conan create packaging/conan --build=missing

Nothing comes from ConanCenter: Highway, ICU, simdjson, oneTBB and the others are those of the system, as CMake finds them.
On Debian and Ubuntu system_requirements() names the packages that are missing, and installs them where
tools.system.package_manager:mode=install asks for it. Programs find the package as they find an installed rankfeed, by
find_package(rankfeed) with CMakeToolchain; CMakeDeps writes no file of its own."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

# Option: what it adds to Debian's packages.
PACKAGES = {
    None: ["libhwy-dev", "libxxhash-dev"],
    "builder": ["libicu-dev", "libsimdjson-dev", "libprotozero-dev", "nlohmann-json3-dev", "libmimalloc-dev", "libfmt-dev"],
    "parallel": ["libtbb-dev"],
    "crossencoder": ["libsimdjson-dev"],
    "cli": ["libcli11-dev", "libfmt-dev", "libzip-dev", "libssl-dev", "zlib1g-dev", "libboost1.81-dev"],
}


class RankfeedConan(ConanFile):
    name = "rankfeed"
    description = "Exact Unigram, WordPiece and BPE tokenization and reranker batches in caller-owned memory"
    license = "MIT"
    topics = ("tokenizer", "unigram", "wordpiece", "sentencepiece", "reranking", "nlp")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],  # shared libraries beside the static ones, which are always made
        "builder": [True, False],
        "parallel": [True, False],
        "crossencoder": [True, False],
        "cli": [True, False],
    }
    default_options = {"shared": False, "builder": True, "parallel": True, "crossencoder": True, "cli": True}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "rankfeed", "version.h"))
        parts = (re.search(rf"define RANKFEED_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
        self.version = ".".join(parts)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "gpu_handoff/*", "include/*", "packaging/*", "src/*", "tools/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def configure(self):
        if not self.options.builder or not self.options.parallel:
            self.options.cli = False  # the program reads model files, on all cores

    def package_id(self):
        self.info.settings.rm_safe("compiler.cppstd")  # the project asks for C++20 itself, whatever the profile says

    def layout(self):
        cmake_layout(self)

    def system_requirements(self):
        wanted = [package for option, packages in PACKAGES.items() if option is None or self.options.get_safe(option)
                  for package in packages]
        newer = ["libboost-dev" if package == "libboost1.81-dev" else package for package in wanted]  # Debian 12's is 1.74
        Apt(self).install_substitutes(sorted(set(wanted)), sorted(set(newer)), check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # the tree has presets of its own
        toolchain.cache_variables.update({
            "RANKFEED_BUILD_SHARED": bool(self.options.shared),
            "RANKFEED_BUILD_BUILDER": bool(self.options.builder),
            "RANKFEED_BUILD_PARALLEL": bool(self.options.parallel),
            "RANKFEED_BUILD_CROSSENCODER": bool(self.options.crossencoder),
            "RANKFEED_BUILD_CLI": bool(self.options.cli),
            "RANKFEED_BUILD_TESTS": False,
            "RANKFEED_BUILD_BENCH": False,
            # Both kinds of libraries are made; this one would make the static ones shared.
            "BUILD_SHARED_LIBS": False,
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The package's own rankfeed-config.cmake, which knows its components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "rankfeed")]
        self.cpp_info.includedirs = ["include"]
        self.cpp_info.libs = []
        self.buildenv_info.prepend_path("PKG_CONFIG_PATH", os.path.join(self.package_folder, "lib", "pkgconfig"))
        if self.options.cli:
            self.runenv_info.prepend_path("PATH", os.path.join(self.package_folder, "bin"))
