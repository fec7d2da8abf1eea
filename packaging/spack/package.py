# SPDX-License-Identifier: MIT
"""rankfeed for Spack, built from a source tree, as the project has no address to fetch a release from. In an environment:

    spack repo create rankfeed-repo rankfeed && cp packaging/spack/package.py rankfeed-repo/packages/rankfeed/
    spack repo add rankfeed-repo
    spack develop --path PATH_OF_THIS_TREE rankfeed@0.1.0
    spack add rankfeed && spack install
"""
import os

from spack.package import *


class Rankfeed(CMakePackage):
    """Exact Unigram, WordPiece and BPE tokenization and reranker batches in caller-owned memory."""

    license("MIT")

    version("0.1.0")

    variant("shared", default=True, description="Shared libraries beside the static ones")
    variant("parallel", default=True, description="Executor over oneTBB")
    variant("crossencoder", default=True, description="Forward pass of cross-encoders on the CPU")
    variant("builder", default=False, description="Library that reads model files. Spack has no package of protozero: its "
                                                  "headers are looked for in the folder PROTOZERO_INCLUDE_DIR")
    variant("cli", default=False, when="+builder +parallel", description="The rankfeed program")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("highway@1.0.3:")
    depends_on("xxhash")
    depends_on("tbb", when="+parallel")
    depends_on("simdjson", when="+crossencoder")
    with when("+builder"):
        depends_on("icu4c@72:")
        depends_on("simdjson")
        depends_on("nlohmann-json")
        depends_on("mimalloc")
        depends_on("fmt")
    with when("+cli"):
        depends_on("cli11")
        depends_on("libzip")
        depends_on("openssl")
        depends_on("boost@1.81:", when="+crossencoder")
        depends_on("zlib-api", when="+crossencoder")

    conflicts("%gcc@:11", msg="rankfeed is written in C++20: GCC 12 or later")
    conflicts("%clang@:13", msg="rankfeed is written in C++20: Clang 14 or later")

    def cmake_args(self):
        args = [
            self.define_from_variant("RANKFEED_BUILD_SHARED", "shared"),
            self.define_from_variant("RANKFEED_BUILD_BUILDER", "builder"),
            self.define("RANKFEED_BUILD_CLI", self.spec.satisfies("+cli")),
            self.define_from_variant("RANKFEED_BUILD_PARALLEL", "parallel"),
            self.define_from_variant("RANKFEED_BUILD_CROSSENCODER", "crossencoder"),
            self.define("RANKFEED_BUILD_TESTS", False),
            self.define("RANKFEED_BUILD_BENCH", False),
            self.define("BUILD_SHARED_LIBS", False),
        ]
        if self.spec.satisfies("+builder") and "PROTOZERO_INCLUDE_DIR" in os.environ:
            args.append(self.define("PROTOZERO_INCLUDE_DIR", os.environ["PROTOZERO_INCLUDE_DIR"]))
        return args
