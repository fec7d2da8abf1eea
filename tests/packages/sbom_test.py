# SPDX-License-Identifier: MIT
"""sbom_test.py SOURCE BUILD PREFIX: the SPDX document of an installed build is valid and complete. SPDX's own validator
reads it; the headers that the compiler read (Ninja's records) and the libraries that the linker found are those that it
names for each component; versions are dpkg's. The wheel's document, where a wheel was built, is read too."""

import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from spdx_tools.spdx.parser.error import SPDXParsingError
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

SOURCE, BUILD, PREFIX = sys.argv[1:4]
sys.path.insert(0, os.path.join(SOURCE, "cmake"))
import sbom  # noqa: E402

PROGRAM = os.path.join(SOURCE, "cmake", "sbom.py")
# Targets of CMake whose objects are in a component.
TARGETS = {"rankfeed_runtime": "runtime", "rankfeed_builder": "builder", "rankfeed_handoff": "handoff",
           "rankfeed_handoff_ring": "handoff", "rankfeed_parallel": "parallel", "rankfeed_counters": "counters",
           "rankfeed_crossencoder": "crossencoder", "rankfeed_cli": "cli", "rankfeed_measure": "cli",
           "rankfeed_allocation_override": "cli", "rankfeed_serve": "serve"}
SYSTEM = re.compile(r"(libc6|libc6-dev|linux-libc-dev|lib(stdc\+\+|gcc)-\d+-dev|libstdc\+\+6|libgcc-s1)$")


def problems(path):
    try:
        return [message.validation_message for message in validate_full_spdx_document(parse_file(path))]
    except SPDXParsingError as error:
        return error.get_messages()


def owners(paths):
    """Debian's package of each file."""
    found, paths = {}, sorted(paths)
    for i in range(0, len(paths), 500):
        said = subprocess.run(["dpkg", "-S", *paths[i:i + 500]], capture_output=True, text=True, check=False).stdout
        for line in said.splitlines():
            package, _, path = line.partition(": ")
            found[path] = package.split(":")[0]
    return found


def edges(document, kind):
    out = collections.defaultdict(set)
    for edge in document["relationships"]:
        if edge["relationshipType"] == kind:
            out[edge["spdxElementId"]].add(edge["relatedSpdxElement"])
    return out


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = os.path.join(PREFIX, "share", "doc", "rankfeed", "rankfeed.spdx.json")
        with open(cls.path, encoding="utf-8") as file:
            cls.document = json.load(file)
        cls.names = {package["SPDXID"]: package["name"] for package in cls.document["packages"]}
        cls.components = [i[len("SPDXRef-rankfeed-"):] for i in cls.names if i.startswith("SPDXRef-rankfeed-")]

    def test_valid(self):
        self.assertEqual(problems(self.path), [])
        self.assertEqual(self.document["spdxVersion"], "SPDX-2.3")

    def test_portable_wheels(self):
        """What is compiled in has the version given, not that of a library which dpkg knows."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rankfeed.spdx.json")
            subprocess.run([sys.executable, PROGRAM, path, "0.1.0", "runtime", "builder", "handoff", "parallel", "python",
                            "ICU=72.1-3+deb12u1", "Highway=1", "simdjson=2", "oneTBB=3", "nanobind=4", "libc++=zig 5"], check=True)
            self.assertEqual(problems(path), [])
            with open(path, encoding="utf-8") as file:
                packages = {package["name"]: package for package in json.load(file)["packages"]}
        self.assertEqual({name: packages[name]["versionInfo"] for name in ("ICU", "Highway", "simdjson", "oneTBB", "nanobind", "libc++")},
                         {"ICU": "72.1-3+deb12u1", "Highway": "1", "simdjson": "2", "oneTBB": "3", "nanobind": "4", "libc++": "zig 5"})
        self.assertEqual(packages["ICU"]["externalRefs"][0]["referenceLocator"], "pkg:deb/debian/icu@72.1-3%2Bdeb12u1?arch=source")
        self.assertNotIn("GNU C library", packages)
        self.assertIn("static library", packages["oneTBB"]["comment"])

    def test_faults_are_found(self):
        """The validator can fail: without a relationship's end, with a licence that is none, without a name."""
        def no_end(made):
            made["relationships"][0]["relatedSpdxElement"] = "SPDXRef-nothing"

        def no_licence(made):
            made["packages"][-1]["licenseDeclared"] = "NOT-A-LICENCE"

        def no_name(made):
            del made["packages"][1]["name"]
        for fault in (no_end, no_licence, no_name):
            made = json.loads(json.dumps(self.document))
            fault(made)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "bad.spdx.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(made, file)
                self.assertNotEqual(problems(path), [], fault.__name__)

    def test_components_are_those_installed(self):
        found = {re.match(r"librankfeed_(\w+)", os.path.basename(path)).group(1)
                 for path in glob.glob(os.path.join(PREFIX, "lib*", "**", "librankfeed_*"), recursive=True)}
        found = {name.replace("handoff_", "") for name in found}
        self.assertGreaterEqual(len(found), 5)
        self.assertEqual(found | {"cli", "serve"}, set(self.components))
        self.assertTrue(os.path.isfile(os.path.join(PREFIX, "bin", "rankfeed")))

    def test_versions_are_those_of_dpkg(self):
        checked = 0
        for package in self.document["packages"]:
            for reference in package.get("externalRefs", []):
                name = re.match(r"pkg:deb/debian/([^@]+)@", reference["referenceLocator"]).group(1)
                said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True)
                self.assertEqual(package["versionInfo"], said.stdout)
                checked += 1
        self.assertGreater(checked, 8)

    def test_licences_are_what_debian_says(self):
        """A licence of the table is one of those that Debian names for the package; the ICU's, Debian calls MIT."""
        names = {"Expat": "MIT", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause", "Zlib": "Zlib",
                 "BSL-1.0": "BSL-1.0", "BSD-2-Clause and Apache-2.0": "BSD-2-Clause AND Apache-2.0",
                 "Expat with embedded exception": "MIT"}
        for name in map(self.names.get, self.names):
            if name not in sbom.USED or not sbom.USED[name][1] or name == "ICU":
                continue
            licence, package = sbom.USED[name][:2]
            says = sbom.debian_licence(package)
            if says is not None and package not in ("libc6", "libstdc++6"):
                self.assertEqual(names.get(says, says), licence, name)

    def debian_of(self, component):
        """Debian's packages that the document names for a component."""
        wanted = {self.names[i] for i in edges(self.document, "DEPENDS_ON")[sbom.identifier("rankfeed-" + component)]}
        return {sbom.USED[name][1] for name in wanted - set(sbom.SYSTEM)}

    def test_headers_that_were_read(self):
        if not os.path.exists(os.path.join(BUILD, "build.ninja")):
            self.skipTest("SKIPPED: not a build of Ninja, which records the headers")
        said = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
        read, target = collections.defaultdict(set), None
        for line in said.splitlines():
            match = re.match(r"(\S+): #deps", line)
            if match:
                made = re.search(r"CMakeFiles/(\w+)\.dir/", match.group(1))
                target = TARGETS.get(made.group(1)) if made and match.group(1).startswith(("src/", "gpu_handoff/")) else None
            elif target and line.strip().startswith("/usr/"):
                read[target].add(os.path.realpath(line.strip()))
        self.assertEqual(set(read), set(TARGETS.values()) & set(self.components))
        packages = owners(set().union(*read.values()))
        for component, files in read.items():
            self.assertEqual(files - set(packages), set(), "files of no package")
            found = {packages[path] for path in files if not SYSTEM.match(packages[path])}
            self.assertEqual(found, self.debian_of(component) - {"libamdhip64-dev", None}, component)

    def test_libraries_that_are_linked(self):
        """What each program and shared library needs, directly and in the components that it contains, is named."""
        contained = edges(self.document, "CONTAINS")
        loaded = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        where = {line.split()[0]: os.path.realpath(line.split()[-1]) for line in reversed(loaded.splitlines()) if "=>" in line}
        sources = {}

        def source(package):
            if package not in sources:
                said = subprocess.run(["dpkg-query", "-W", "-f", "${source:Package}", package], capture_output=True, text=True,
                                      check=True)
                sources[package] = re.sub(r"-[\d.]+$", "", said.stdout)  # as in gcc-12 and gcc-13
            return sources[package]
        built = {"cli": os.path.join(PREFIX, "bin", "rankfeed")}
        for path in glob.glob(os.path.join(PREFIX, "lib*", "**", "librankfeed_*.so"), recursive=True):
            built[re.match(r"librankfeed_(?:handoff_)?(\w+)", os.path.basename(path)).group(1)] = path
        self.assertGreater(len(built), 5)
        for component, path in built.items():
            names, open_ids = set(), {sbom.identifier("rankfeed-" + component)}
            if component == "cli":
                open_ids.add(sbom.identifier("rankfeed-serve"))
            while open_ids:
                one = open_ids.pop()
                names |= {self.names[i] for i in edges(self.document, "DEPENDS_ON")[one]}
                open_ids |= contained[one]
            told = {source(sbom.USED[name][1]) for name in names if sbom.USED[name][1]}
            said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
            needed = [name for name in re.findall(r"NEEDED.*\[(.+)\]", said) if not name.startswith("librankfeed_")]
            packages = owners({p for name in needed for p in (where[name], where[name].replace("/usr/", "/", 1))})
            for name in needed:
                package = packages.get(where[name]) or packages.get(where[name].replace("/usr/", "/", 1))
                self.assertIn(source(package), told, f"{os.path.basename(path)} needs {name} of {package}")

    def test_again_the_same(self):
        made = []
        with tempfile.TemporaryDirectory() as folder:
            for name in "ab":
                path = os.path.join(folder, name)
                subprocess.run([sys.executable, "-B", PROGRAM, path, "0.1.0", *self.components], check=True,
                               env={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"})
                with open(path, encoding="utf-8") as file:
                    made.append(file.read())
            done = subprocess.run([sys.executable, "-B", PROGRAM, path, "0.1.0", "nonsense"], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(made[0], made[1])
        self.assertIn("2026-01-01T00:00:00Z", made[0])
        self.assertIn("nonsense: not in its tables", done.stderr)

    def test_wheel(self):
        found = glob.glob(os.path.join(BUILD, "tests", "python", "work", "site", "rankfeed-*.dist-info", "sboms", "*.json"))
        if not found:
            self.skipTest("SKIPPED: no wheel was built here")
        self.assertEqual(problems(found[0]) if found[0].endswith(".spdx.json") else ["name"], [])
        with open(found[0], encoding="utf-8") as file:
            packages = {package["name"]: package for package in json.load(file)["packages"]}
        self.assertRegex(packages["nanobind"]["versionInfo"], r"^\d+\.\d+")
        self.assertIn("ICU", packages)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
