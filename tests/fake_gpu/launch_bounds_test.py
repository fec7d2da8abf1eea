# SPDX-License-Identifier: MIT
"""launch_bounds_test.py SOURCE cuda|hip COMPILER: every kernel tells its compiler how many threads a block has at most: without,
registers are given out for blocks of 1,024, and what a kernel needs beyond that is spilled. Standard library only."""

import pathlib
import re
import subprocess
import sys

source, vendor, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
handoff = source / "gpu_handoff"
common = ["-std=c++20", f"-I{source / 'include'}", f"-I{handoff}", f"-DRANKFEED_GPU_VENDOR_{vendor.upper()}", "-o", "-"]
if vendor == "cuda":
    command = [compiler, "-O1", "-gencode", "arch=compute_90,code=compute_90", "-ptx", *common]
    pattern = r"\.entry (\w+)\((?:[^)]*)\)\s*\.maxntid (\d+)"
    every = r"\.entry (\w+)"
else:
    command = [compiler, "-x", "hip", "-O1", "--offload-arch=gfx90a", "--cuda-device-only", "-S", *common]
    pattern = r"\.max_flat_workgroup_size: (\d+)\s+\.name:\s+(\w+)"
    every = r"\.amdhsa_kernel (\w+)"
said = subprocess.run([*command, handoff / "crossencoder" / "kernels" / "ops_device.cu"], capture_output=True, text=True, check=True).stdout
kernels = re.findall(every, said)
bounds = [(m if vendor == "cuda" else m[::-1]) for m in re.findall(pattern, said)]
assert len(kernels) >= 10, f"{len(kernels)} kernels were seen"
without = set(kernels) - {name for name, threads in bounds if int(threads) <= 256}
print(f"{len(kernels)} kernels, bounds {sorted({int(threads) for _, threads in bounds})}")
sys.exit(f"without a bound: {sorted(without)}" if without else 0)
