# SPDX-License-Identifier: MIT
"""sbom.py OUTPUT VERSION COMPONENT...: an SPDX 2.3 document of a build: the project, its libraries and programs, and
what each of them is compiled with and linked with. Versions and what Debian says of licences come from dpkg, as they are
on the machine that builds; elsewhere versions come from pkg-config, or are not asserted.

COMPONENT: runtime, builder, ... as in LINKS. NAME=VERSION among them: of something used that dpkg does not know, or of a
library that is compiled in, from Debian's source package of that version. libc++=VERSION: no library is the system's
but its C library, which is not part of what is made. SOURCE_DATE_EPOCH, if it is set, is the document's date, so that a second
build makes the same bytes. tests/packages compares the tables with the headers that the compiler read and the libraries
that the linker found.
"""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid

# name: (licence as its authors give it, Debian package whose version counts, pkg-config's name, how it gets in)
HEADERS, LIBRARY, STATIC = "headers, compiled in", "library", "static library"
# Debian's source packages of libraries that portable wheels have inside (packaging/wheels/dependencies).
SOURCES = {"Highway": "highway", "ICU": "icu", "simdjson": "simdjson", "oneTBB": "onetbb", "fmt": "fmtlib", "zlib": "zlib"}
USED = {
    "Highway": ("Apache-2.0", "libhwy-dev", "libhwy", LIBRARY),
    "ICU": ("Unicode-DFS-2016", "libicu-dev", "icu-uc", LIBRARY),
    "simdjson": ("Apache-2.0", "libsimdjson-dev", "simdjson", LIBRARY),
    "protozero": ("BSD-2-Clause AND Apache-2.0", "libprotozero-dev", None, HEADERS),
    "xxHash": ("BSD-2-Clause", "libxxhash-dev", "libxxhash", HEADERS),
    "oneTBB": ("Apache-2.0", "libtbb-dev", "tbb", LIBRARY),
    "nlohmann-json": ("MIT", "nlohmann-json3-dev", "nlohmann_json", HEADERS),
    "mimalloc": ("MIT", "libmimalloc-dev", None, LIBRARY),
    "fmt": ("MIT", "libfmt-dev", "fmt", LIBRARY),
    "CLI11": ("BSD-3-Clause", "libcli11-dev", None, HEADERS),
    "libzip": ("BSD-3-Clause", "libzip-dev", "libzip", LIBRARY),
    "OpenSSL": ("Apache-2.0", "libssl-dev", "libcrypto", LIBRARY),
    "Boost": ("BSL-1.0", "libboost1.81-dev", None, HEADERS),
    "zlib": ("Zlib", "zlib1g-dev", "zlib", LIBRARY),
    "nanobind": ("BSD-3-Clause", None, None, "compiled in"),
    "CUDA runtime": ("LicenseRef-NVIDIA-CUDA-EULA", None, None, STATIC),
    "HIP runtime": ("MIT", "libamdhip64-dev", None, LIBRARY),
    "libc++": ("Apache-2.0 WITH LLVM-exception", None, None, STATIC),
    "GNU C library": ("LGPL-2.1-or-later", "libc6", None, LIBRARY),
    "GCC runtime libraries": ("GPL-3.0-or-later WITH GCC-exception-3.1", "libstdc++6", None, LIBRARY),
}
SYSTEM = ["GNU C library", "GCC runtime libraries"]
# Component: (what it is, other components in it, what it uses beside SYSTEM).
LINKS = {
    "runtime": ("librankfeed_runtime", [], ["Highway", "xxHash"]),
    "builder": ("librankfeed_builder", ["runtime"], ["ICU", "simdjson", "protozero", "xxHash"]),
    "handoff": ("librankfeed_handoff", [], []),
    "parallel": ("librankfeed_parallel", [], ["oneTBB"]),
    "counters": ("librankfeed_counters", [], ["nlohmann-json"]),
    "crossencoder": ("librankfeed_crossencoder", ["handoff"], ["simdjson", "Highway"]),
    "cuda": ("librankfeed_handoff_cuda", [], ["CUDA runtime"]),
    "hip": ("librankfeed_handoff_hip", [], ["HIP runtime"]),
    "cli": ("rankfeed, the program", ["runtime", "builder", "handoff", "parallel", "counters"],
            ["CLI11", "fmt", "libzip", "OpenSSL", "oneTBB", "nlohmann-json", "mimalloc", "simdjson", "xxHash"]),
    "serve": ("rankfeed serve and rankfeed rerank, in the program", ["runtime", "builder", "crossencoder"],
              ["Boost", "fmt", "nlohmann-json", "zlib"]),
    "python": ("the Python module rankfeed", ["runtime", "builder", "handoff", "parallel"], ["nanobind"]),
    "python-forward": ("the forward pass in the Python module", ["crossencoder"], ["fmt", "nlohmann-json", "simdjson"]),
    "python-program": ("rankfeed, the program of the Python package", ["runtime", "builder", "handoff", "parallel", "crossencoder"],
                       ["CLI11", "fmt", "oneTBB", "nlohmann-json", "simdjson", "xxHash", "Boost", "zlib"]),
}
NVIDIA_EULA = {"licenseId": "LicenseRef-NVIDIA-CUDA-EULA", "name": "NVIDIA CUDA Toolkit End User License Agreement",
               "extractedText": "The End User License Agreement of the CUDA Toolkit; the file EULA.txt of an installed toolkit."}


def said_by(*command):
    """A program's output, or None where it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else None


def debian_licence(package):
    """What Debian's machine-readable copyright file says of most files; None where it is written for people."""
    try:
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    found = re.search(r"^Files:\s+\*\n(?:.+\n)*?License:[ \t]*(.+)$", text, re.M)
    return found.group(1).strip() if found else None


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name)


def used_package(name, given):
    """The SPDX package of something that the project uses. given: versions that the build found, by name."""
    licence, debian, pkg_config, how = USED[name]
    inside = name in given and name in SOURCES
    if inside:
        how, debian = STATIC, None
    package = {"SPDXID": identifier(name), "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
               "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
               "primaryPackagePurpose": "LIBRARY", "comment": f"How it gets in: {how}."}
    state = said_by("dpkg-query", "-W", "-f", "${Version}\t${Architecture}\t${source:Package}", debian) if debian else None
    version = given.get(name)
    if state:
        version, architecture, source = state.split("\t")
        package["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{debian}@{version.replace(':', '%3A').replace('+', '%2B')}?arch={architecture}"}]
        package["comment"] += f" Debian's package {debian} of the source package {source}"
        says = debian_licence(debian)
        package["comment"] += f", of whose files its copyright file says: {says}." if says else "."
    elif inside:
        package["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{SOURCES[name]}@{version.replace(':', '%3A').replace('+', '%2B')}?arch=source"}]
        package["comment"] += f" Debian's source package {SOURCES[name]}."
    elif version is None and pkg_config:
        version = said_by("pkg-config", "--modversion", pkg_config)
    if version:
        package["versionInfo"] = version
    return package


def document(version, components, given):
    own = {"downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "MIT", "licenseDeclared": "MIT",
           "copyrightText": "NOASSERTION", "versionInfo": version, "supplier": "NOASSERTION"}
    packages = [{"SPDXID": "SPDXRef-rankfeed", "name": "rankfeed", **own}]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-rankfeed")]
    used = set()
    system = ["libc++"] if "libc++" in given else SYSTEM
    for component in components:
        title, parts, uses = LINKS[component]
        packages.append({"SPDXID": identifier("rankfeed-" + component), "name": title,
                         "primaryPackagePurpose": "APPLICATION" if component in ("cli", "serve") else "LIBRARY", **own})
        relations.append(("SPDXRef-rankfeed", "CONTAINS", identifier("rankfeed-" + component)))
        relations += [(identifier("rankfeed-" + component), "CONTAINS", identifier("rankfeed-" + part))
                      for part in parts if part in components]
        relations += [(identifier("rankfeed-" + component), "DEPENDS_ON", identifier(name)) for name in uses + system]
        used.update(uses + system)
    packages += [used_package(name, given) for name in USED if name in used]
    for package in packages:
        package.setdefault("supplier", "NOASSERTION")
    made = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"rankfeed-{version}",
            "packages": packages, "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                                                    for a, kind, b in relations]}
    if "CUDA runtime" in used:
        made["hasExtractedLicensingInfos"] = [NVIDIA_EULA]
    # The project has no host of its own: the namespace is SPDX's, made unique by what the document says.
    digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).digest()
    made["documentNamespace"] = f"https://spdx.org/spdxdocs/rankfeed-{version}-{uuid.UUID(bytes=digest[:16])}"
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc) if seconds else datetime.datetime.now(datetime.timezone.utc)
    made["creationInfo"] = {"created": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: rankfeed-sbom-{version}"]}
    return made


def main():
    output, version, *words = sys.argv[1:]
    components = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)  # as nanobind=2.9.2
    unknown = [word for word in components if word not in LINKS] + [name for name in given if name not in USED]
    if unknown:
        sys.exit(f"sbom.py: {', '.join(unknown)}: not in its tables")
    with open(output, "w", encoding="utf-8") as file:
        json.dump(document(version, components, given), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
