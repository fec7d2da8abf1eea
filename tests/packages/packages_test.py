# SPDX-License-Identifier: MIT
"""packages_test.py SOURCE BUILD CMAKE: the files that package managers read say what CMakeLists.txt says: one version, the
options that there are, and what each part needs. The port of vcpkg and the package of Spack are run as far as they can be
without those tools: the functions that they call are stood in for by a few lines here, and the project is configured with
the options that come out. Conan itself reads its recipe; conan_test.sh builds it."""

import contextlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE, BUILD, CMAKE = sys.argv[1:4]
sys.path.insert(0, os.path.join(SOURCE, "cmake"))
import sbom  # noqa: E402

# What each of the manager's packages is in sbom.py's table: (Debian, vcpkg, Spack); None: it has none.
NAMES = {
    "Highway": ("libhwy-dev", "highway", "highway"), "xxHash": ("libxxhash-dev", "xxhash", "xxhash"),
    "ICU": ("libicu-dev", "icu", "icu4c"), "simdjson": ("libsimdjson-dev", "simdjson", "simdjson"),
    "protozero": ("libprotozero-dev", "protozero", None), "oneTBB": ("libtbb-dev", "tbb", "tbb"),
    "nlohmann-json": ("nlohmann-json3-dev", "nlohmann-json", "nlohmann-json"),
    "mimalloc": ("libmimalloc-dev", "mimalloc", "mimalloc"), "fmt": ("libfmt-dev", "fmt", "fmt"),
    "CLI11": ("libcli11-dev", "cli11", "cli11"), "libzip": ("libzip-dev", "libzip", "libzip"),
    "OpenSSL": ("libssl-dev", "openssl", "openssl"), "Boost": ("libboost1.81-dev", "boost-beast", "boost"),
    "zlib": ("zlib1g-dev", "zlib", "zlib-api"),
}
BUILDERS = {"RANKFEED_BUILD_BUILDER", "RANKFEED_BUILD_PARALLEL", "RANKFEED_BUILD_CROSSENCODER", "RANKFEED_BUILD_CLI",
            "RANKFEED_BUILD_SHARED", "RANKFEED_BUILD_TESTS", "RANKFEED_BUILD_BENCH"}
# src/CMakeLists.txt builds what the program is made of beside the builder: receipts, counters and the audit.
PARTS = {"builder": ["ICU", "simdjson", "protozero", "xxHash", "nlohmann-json", "mimalloc", "fmt"]}


def read(*parts):
    with open(os.path.join(SOURCE, *parts), encoding="utf-8") as file:
        return file.read()


def needs(index, *components):
    """Names, of one manager, of what components of sbom.py use."""
    used = {name for component in components for name in PARTS.get(component, []) + sbom.LINKS[component][2]}
    return {NAMES[name][index] for name in used} - {None}


VERSION = ".".join(re.search(rf"VERSION_{part} (\d+)", read("include", "rankfeed", "version.h")).group(1)
                   for part in ("MAJOR", "MINOR", "PATCH"))


def configure(case, options):
    """The project takes the options, and knows every one of them."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([CMAKE, "-S", SOURCE, "-B", folder, *options], capture_output=True, text=True, check=False)
        case.assertEqual(done.returncode, 0, done.stderr)
        case.assertNotIn("not used by the project", done.stderr)
        with open(os.path.join(folder, "CMakeCache.txt"), encoding="utf-8") as file:
            cache = dict(line.rstrip("\n").split("=", 1) for line in file if re.match(r"\w+:\w+=", line))
        return {name.split(":")[0]: value for name, value in cache.items()}, done.stdout


def build_options(options):
    return {word[2:].split("=")[0].split(":")[0] for word in options if word.startswith("-DRANKFEED_BUILD_")}


class Versions(unittest.TestCase):
    def test_one_version(self):
        port = json.loads(read("packaging", "vcpkg", "ports", "rankfeed", "vcpkg.json"))
        self.assertEqual(port["version"], VERSION)
        self.assertEqual(re.findall(r'^    version\("(.+?)"', read("packaging", "spack", "package.py"), re.M), [VERSION])
        self.assertEqual(re.match(r"rankfeed \((.+?)\)", read("packaging", "changelog")).group(1), VERSION)
        self.assertRegex(read("CHANGELOG.md"), rf"(?m)^## {re.escape(VERSION)}( |$)")
        self.assertEqual(port["license"], "MIT")
        self.assertIn("MIT License", read("LICENSE"))

    def test_python_metadata(self):
        text = read("pyproject.toml")
        self.assertIn('license = "MIT"', text)
        for group in ("keywords", "classifiers"):
            self.assertRegex(text, rf"(?m)^{group} = \[")


class Pip(unittest.TestCase):
    """What cmake/RankfeedPythonNeeds.cmake says before the Python package is built."""

    def missing(self, folder):
        done = subprocess.run([CMAKE, "-DRANKFEED_BUILD_CROSSENCODER=ON", "-DRANKFEED_WHEEL_PROGRAM=ON", f"-DCMAKE_PREFIX_PATH={folder}", "-P",
                               os.path.join(SOURCE, "cmake", "RankfeedPythonNeeds.cmake")], capture_output=True, text=True, check=False)
        said = " ".join(done.stderr.split())
        found = re.search(r"cannot be built: (.+) not found. On Debian: apt-get install (.+) \(scripts/install-deps.sh build", said)
        self.assertEqual(done.returncode == 0, found is None, said)
        return ([], []) if found is None else (found[1].split(", "), found[2].split())

    def test_all_that_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            headers, packages = self.missing(folder)
            self.assertGreater(len(headers), 5)
            installed = read("scripts", "install-deps.sh")
            for package in packages:
                self.assertRegex(installed, rf"(?m)^  (.+ )?{re.escape(package)}( |$)")
            used = needs(0, "runtime", "builder", "parallel", "python-forward", "python-program") - {"libmimalloc-dev"}
            self.assertEqual(set(packages), used)
            for header in headers:
                path = os.path.join(folder, "include", header)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8"):
                    pass
            self.assertEqual(self.missing(folder), ([], []))
            for header, package in zip(headers, packages):
                path = os.path.join(folder, "include", header)
                os.rename(path, path + ".away")
                self.assertEqual(self.missing(folder), ([header], [package]))
                os.rename(path + ".away", path)


class Vcpkg(unittest.TestCase):
    FOLDER = os.path.join(SOURCE, "packaging", "vcpkg", "ports", "rankfeed")

    def setUp(self):
        self.port = json.loads(read("packaging", "vcpkg", "ports", "rankfeed", "vcpkg.json"))

    def dependencies(self, entries):
        return {e if isinstance(e, str) else e["name"] for e in entries if not isinstance(e, dict) or not e.get("host")}

    def test_manifest(self):
        """The keys that vcpkg's documentation of the manifest names, and names as it allows them."""
        allowed = {"$comment", "name", "version", "description", "license", "supports", "dependencies", "default-features",
                   "features"}
        self.assertLessEqual(set(self.port), allowed)
        names = self.dependencies(self.port["dependencies"])
        for feature, said in self.port["features"].items():
            self.assertEqual(set(said), {"description", "dependencies"}, feature)
            names |= self.dependencies(said["dependencies"])
        for name in [*names, *self.port["features"], *self.port["default-features"]]:
            self.assertRegex(name, r"^[a-z0-9]+(-[a-z0-9]+)*$")
        self.assertLessEqual(set(self.port["default-features"]), set(self.port["features"]))
        self.assertIn("rankfeed::builder", read("packaging", "vcpkg", "ports", "rankfeed", "usage"))

    def test_dependencies(self):
        features = {name: self.dependencies(said["dependencies"]) for name, said in self.port["features"].items()}
        own = self.dependencies(self.port["dependencies"])
        self.assertEqual(own, needs(1, "runtime"))
        self.assertEqual(features["builder"] | own, needs(1, "builder", "counters") | own)
        self.assertEqual(features["parallel"], needs(1, "parallel"))
        below = own | features["builder"] | features["parallel"]
        self.assertEqual(features["tools"] - {"rankfeed"} | below, needs(1, "cli") | below)

    def run_port(self, features, linkage):
        """The options that the port hands to vcpkg_cmake_configure, and which other functions it calls."""
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "run.cmake")
            with open(script, "w", encoding="utf-8") as file:
                file.write(f'''
cmake_minimum_required(VERSION 3.22)
set(FEATURES core {" ".join(features)})
set(VCPKG_LIBRARY_LINKAGE {linkage})
set(PORT rankfeed)
set(CURRENT_PACKAGES_DIR "{folder}/packages")
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(made "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND made -D${{option}}=ON)
    else()
      list(APPEND made -D${{option}}=OFF)
    endif()
  endwhile()
  set(${{arg_OUT_FEATURE_OPTIONS}} ${{made}} PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  foreach(option IN LISTS arg_OPTIONS)
    message("option ${{option}}")
  endforeach()
  message("source ${{arg_SOURCE_PATH}}")
  message("left ${{arg_UNPARSED_ARGUMENTS}}")
endfunction()
foreach(name vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig vcpkg_copy_tools vcpkg_install_copyright)
  cmake_language(EVAL CODE "function(${{name}})\\n message(\\"call ${{name}} \\${{ARGN}}\\")\\n endfunction()")
endforeach()
include("{self.FOLDER}/portfile.cmake")
''')
            done = subprocess.run([CMAKE, "-P", script], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.isfile(os.path.join(folder, "packages", "share", "rankfeed", "usage")))
        lines = [line.split(" ", 1) for line in done.stderr.splitlines()]
        self.assertEqual([rest for key, rest in lines if key == "left"], [""])
        self.assertEqual([os.path.realpath(rest) for key, rest in lines if key == "source"], [os.path.realpath(SOURCE)])
        return [rest for key, rest in lines if key == "option"], [rest for key, rest in lines if key == "call"]

    def test_port(self):
        for features, linkage in (([], "static"), (["builder", "parallel", "tools"], "dynamic")):
            with self.subTest(features=features):
                options, calls = self.run_port(features, linkage)
                self.assertEqual(build_options(options), BUILDERS)
                self.assertEqual(any(call.startswith("vcpkg_copy_tools") for call in calls), "tools" in features)
                self.assertTrue(any("LICENSE" in call for call in calls))
                cache, _ = configure(self, options)
                self.assertEqual(cache["RANKFEED_BUILD_CLI"], "ON" if features else "OFF")
                self.assertEqual(cache["RANKFEED_BUILD_SHARED"], "1" if linkage == "dynamic" else "0")


class Package:
    """What Spack's CMakePackage does for a recipe, as far as this recipe uses it."""

    @staticmethod
    def define(name, value):
        return f"-D{name}:{'BOOL' if isinstance(value, bool) else 'STRING'}={value}".replace("=True", "=ON").replace("=False", "=OFF")

    def define_from_variant(self, name, variant):
        return self.define(name, variant in self.spec.variants)


class Spec:
    def __init__(self, variants):
        self.variants = set(variants)

    def satisfies(self, text):
        return all(word[1:] in self.variants for word in text.split())

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix=types.SimpleNamespace(include="/usr/include/x86_64-linux-gnu", lib="/usr/lib/x86_64-linux-gnu"))


class Spack(unittest.TestCase):
    def setUp(self):
        self.variants, self.dependencies, whens = {}, [], [""]

        def variant(name, default, description, when=""):
            self.variants[name] = (default, when)

        def depends_on(spec, type=None, when=""):
            if type != "build":
                self.dependencies.append((re.match(r"[a-z0-9-]+", spec).group(), " ".join(filter(None, (whens[-1], when)))))

        @contextlib.contextmanager
        def when(text):
            whens.append(text)
            yield
            whens.pop()
        module = types.ModuleType("spack.package")
        module.__dict__.update(CMakePackage=Package, variant=variant, depends_on=depends_on, when=when,
                               **{name: lambda *args, **kwargs: None for name in ("license", "version", "conflicts")})
        sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module})
        self.recipe = runpy.run_path(os.path.join(SOURCE, "packaging", "spack", "package.py"))["Rankfeed"]

    def needed(self, *variants):
        spec = Spec(variants)
        return {name for name, when in self.dependencies if spec.satisfies(when)}

    def test_dependencies(self):
        for _, when in [*self.variants.values(), *self.dependencies]:
            self.assertLessEqual({word[1:] for word in when.split()}, set(self.variants))
        self.assertEqual(self.needed(), needs(2, "runtime"))
        self.assertEqual(self.needed("builder"), needs(2, "runtime", "builder", "counters"))
        self.assertEqual(self.needed("parallel"), needs(2, "runtime", "parallel"))
        self.assertEqual(self.needed("crossencoder"), needs(2, "runtime", "crossencoder"))
        self.assertEqual(self.needed("builder", "parallel", "cli", "crossencoder"),
                         needs(2, "runtime", "builder", "counters", "parallel", "crossencoder", "cli", "serve"))

    def test_options(self):
        package = self.recipe()
        defaults = [name for name, (default, _) in self.variants.items() if default]
        for variants in (defaults, [*self.variants]):
            with self.subTest(variants=variants):
                package.spec = Spec(variants)
                options = package.cmake_args()
                self.assertEqual(build_options(options), BUILDERS)
                cache, _ = configure(self, options)
                self.assertEqual(cache["RANKFEED_BUILD_CLI"], "ON" if "cli" in variants else "OFF")


class Conan(unittest.TestCase):
    def setUp(self):
        # Conan's own reader, in this interpreter's environment.
        folder = os.path.join(BUILD, "conan_home")
        done = subprocess.run([os.path.join(os.path.dirname(sys.executable), "conan"), "inspect", "--format", "json",
                               os.path.join(SOURCE, "packaging", "conan")], capture_output=True, text=True, check=True,
                              env={**os.environ, "CONAN_HOME": folder})
        self.recipe = json.load(io.StringIO(done.stdout))
        self.packages = runpy.run_path(os.path.join(SOURCE, "packaging", "conan", "conanfile.py"))["PACKAGES"]

    def test_recipe(self):
        self.assertEqual((self.recipe["name"], self.recipe["version"], self.recipe["license"]), ("rankfeed", VERSION, "MIT"))
        text = read("packaging", "conan", "conanfile.py")
        given = set(re.findall(r'"(RANKFEED_\w+)":', text))
        self.assertEqual(given, BUILDERS)
        known = set(re.findall(r"^option\((RANKFEED_\w+)", read("CMakeLists.txt"), re.M))
        self.assertLessEqual(given, known)
        options = {"shared", *(name for name in self.packages if name)}
        self.assertEqual(set(self.recipe["options"]), options)
        for name in options:
            self.assertIn(f"RANKFEED_BUILD_{name.upper()}", given)

    def test_packages(self):
        def below(*names):
            return {package for name in (None, *names) for package in self.packages[name]}
        self.assertEqual(below(), needs(0, "runtime"))
        self.assertEqual(below("builder"), needs(0, "runtime", "builder", "counters"))
        self.assertEqual(below("parallel"), needs(0, "runtime", "parallel"))
        self.assertEqual(below("crossencoder"), needs(0, "runtime", "crossencoder"))
        every = needs(0, "runtime", "builder", "counters", "parallel", "crossencoder", "cli", "serve")
        self.assertEqual(below(*filter(None, self.packages)), every)
        installed = read("scripts", "install-deps.sh").partition("build_packages=(")[2].partition("\n)")[0]
        installed = {word for line in installed.splitlines() for word in line.partition("#")[0].split()}
        tools = {"g++", "cmake", "ninja-build", "pkg-config", "ccache", "python3-dev", "python3-venv"}
        self.assertEqual(installed - tools, every)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
