# SPDX-License-Identifier: MIT
"""A program that finds the package by CMake, loads a small tokenizer.json and encodes a text."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class RankfeedTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # nothing is written beside the sources
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            vocabulary = os.path.join(self.source_folder, "tokenizer.json")
            self.run(f"{os.path.join(self.cpp.build.bindir, 'encodes')} {vocabulary}", env="conanrun")
