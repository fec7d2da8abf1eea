#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nvidia_headers.py HIP_INCLUDE OUT: a copy of HIP's headers in OUT whose NVIDIA half compiles with CUDA 13.

HIP's NVIDIA platform maps every HIP function to CUDA's inline. Debian's HIP 5.2 knows CUDA 11: some of the
functions, members and template textures it maps to are gone or have other parameters in CUDA 13. None of them is
used here. Their inline functions answer hipErrorNotSupported in the copy, and lines about members that are no
more are left out; everything else stays as it is. Made in the build folder from the installed headers."""

import pathlib
import re
import shutil
import sys

# Bodies that CUDA 13 does not compile.
GONE_FUNCTIONS = """hipMemAdvise hipMemPrefetchAsync hipCtxCreate hipBindTexture hipBindTexture2D
hipGetTextureAlignmentOffset hipLaunchCooperativeKernelMultiDevice hipGraphAddDependencies hipGraphRemoveDependencies
hipGraphGetEdges hipGraphNodeGetDependencies hipGraphNodeGetDependentNodes hipStreamGetCaptureInfo_v2
hipStreamUpdateCaptureDependencies hipUnbindTexture hipBindTextureToArray hipGraphExecUpdate hipGraphInstantiate
hipStreamGetCaptureInfo""".split()
GONE_MEMBERS = "clockRate memoryClockRate computeMode cooperativeMultiDeviceLaunch kernelExecTimeoutEnabled".split()


def body_end(text, at):
    """The position after the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    raise ValueError("braces do not match")


def adapt(text):
    # Template textures are gone, with the functions over them.
    while True:
        found = re.search(r"template\s*<[^>]*>\s*(?:__HIP_DEPRECATED )?inline static hipError_t \w+\([^{]*texture<[^{]*\{", text)
        if found is None:
            break
        text = text[:found.start()] + text[body_end(text, found.end() - 1):]
    for name in GONE_FUNCTIONS:
        at = 0
        while True:
            found = re.compile(rf"hipError_t\s+{name}\s*\([^;{{]*\)\s*\{{").search(text, at)
            if found is None:
                break
            end = body_end(text, found.end() - 1)
            text = text[:found.end()] + "\n    return hipErrorNotSupported;\n}" + text[end:]
            at = found.end()
    for member in GONE_MEMBERS:
        text = re.sub(rf"^.*\bcdprop\.{member}\b.*$", "", text, flags=re.M)
    text = text.replace("cdattr = cudaDevAttrCooperativeMultiDeviceLaunch;", "return hipErrorNotSupported;")
    return text


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    shutil.rmtree(out / "hip", ignore_errors=True)
    shutil.copytree(source / "hip", out / "hip")
    for path in (out / "hip" / "nvidia_detail").glob("*.h"):
        path.write_text(adapt(path.read_text(encoding="utf-8")), encoding="utf-8")


main()
