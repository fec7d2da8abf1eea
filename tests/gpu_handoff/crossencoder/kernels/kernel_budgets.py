#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel_budgets.py SOURCE cuda|hip COMPILER [--update]: what the compiler says of every kernel, against kernel_budgets.json.

Registers, bytes spilled, bytes of stack (local memory, scratch), instructions for matrix units, and how many blocks a multiprocessor then
holds (CUDA, sm_90) or waves a compute unit holds (HIP, gfx90a). More registers or bytes than the file says, fewer blocks, waves or matrix
instructions, or a kernel that the file does not know fails. Another compiler than the file's makes other numbers: not run (status 77).
--update writes what it says now. Standard library only.

Blocks on sm_90 (CUDA C Programming Guide, table of compute capabilities; occupancy calculator): 65,536 registers in units of 256 a warp,
227 KB of shared memory with 1 KB taken by the system for each block, 64 warps, 32 blocks. Waves on gfx90a: what the compiler says of a
SIMD's registers, four SIMDs, and 64 KB of LDS for the blocks of a compute unit (AMD CDNA2 ISA)."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

source, vendor, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
FILE = source / "tests" / "gpu_handoff" / "crossencoder" / "kernels" / "kernel_budgets.json"
KERNELS = source / "gpu_handoff" / "crossencoder" / "kernels" / "ops_device.cu"
INCLUDES = [f"-I{source / 'include'}", f"-I{source / 'gpu_handoff'}"]


def short(mangled):
    name = subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout
    name = re.sub(r"\(anonymous namespace\)::|rankfeed::handoff::|^void ", "", name.strip())
    return re.sub(r"^void ", "", name).split("(")[0]


def shared_bytes(kernel, lanes):
    """What the launches ask for: AttentionTile (attention.inl), HalvesTile (attention_halves.inl), kGemmShared and kUnitGemmShared
    (gemm.inl), kThreads or twice as many words."""
    found = re.match(r"(Halves)?(?:Window|Relative)?AttentionKernel<(?:\w+, )?(\d+)u>", kernel)
    if found:
        dim = int(found[2])
        if found[1]:
            return 4 * (64 * (dim // 2 + 4) + 64 * (64 + 4 * (lanes // 16)) + 64)
        queries = 64 if dim <= 64 else 32
        return 4 * (queries * (dim + 1) + 32 * (dim + 1) + queries * 33 + 3 * queries)
    if kernel.startswith("HalvesGemmKernel"):
        return 4 * max(4 * 16 * 72, (128 + 64) * 20)
    if kernel.startswith("GemmKernel"):
        return 4 * 2 * 16 * 68
    if re.match(r"PositionsKernel|UnpackKernel", kernel):
        return 4 * 2 * 128
    return 4 * 128 if kernel.startswith("LogitsKernel") else 0


def warps(kernel, lanes):
    if kernel.startswith("Halves"):
        return 4
    return (256 if kernel.startswith("GemmKernel") else 128) // lanes


def blocks_on_sm90(kernel, registers):
    by_registers = 65536 // (warps(kernel, 32) * -(-registers * 32 // 256) * 256)
    return min(by_registers, 227 * 1024 // (shared_bytes(kernel, 32) + 1024), 64 // warps(kernel, 32), 32)


def waves_on_gfx90a(kernel, of_a_simd):
    shared = shared_bytes(kernel, 64)
    return 4 * of_a_simd if shared == 0 else min(4 * of_a_simd, 64 * 1024 // shared * warps(kernel, 64))


def matrix_instructions(assembly, begin, end, instruction):
    """How many each kernel of an assembly file has; begin finds a kernel's name, end is the line after it."""
    counts = {}
    for part in re.split(begin, assembly)[1:]:
        name, _, body = part.partition("\n")
        counts[short(re.match(r"\w+", name)[0])] = len(re.findall(instruction, body.partition(end)[0]))
    return counts


def cuda():
    version = re.search(r"V([\d.]+)", subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout)[1]
    said = subprocess.run([compiler, "-std=c++20", "-O3", *INCLUDES, "-gencode", "arch=compute_90,code=sm_90", "-DRANKFEED_GPU_VENDOR_CUDA", "-Xptxas", "-v",
                           "-cubin", KERNELS, "-o", "/dev/null"], capture_output=True, text=True, check=True).stderr
    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        subprocess.run([compiler, "-std=c++20", "-O3", *INCLUDES, "-gencode", "arch=compute_90,code=compute_90", "-DRANKFEED_GPU_VENDOR_CUDA", "-ptx",
                        KERNELS, "-o", file.name], check=True)
        matrix = matrix_instructions(pathlib.Path(file.name).read_text(), r"\.entry ", "\n}", r"\bw?mma\.(?:mma\.)?sync")
    kernels = {}
    for mangled, stack, stores, loads, registers in re.findall(
            r"Compiling entry function '(\w+)' for 'sm_90'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
            said, re.S):
        name = short(mangled)
        kernels[name] = {"registers": int(registers), "spilled_bytes": int(stores) + int(loads), "stack_bytes": int(stack),
                         "shared_bytes": shared_bytes(name, 32), "matrix_instructions": matrix[name],
                         "blocks": blocks_on_sm90(name, int(registers))}
    return version, "sm_90", kernels


def hip():
    version = re.search(r"HIP version: (\S+)", subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout)[1]
    said = subprocess.run([compiler, "-x", "hip", "-std=c++20", "-O3", "--offload-arch=gfx90a", *INCLUDES, "-DRANKFEED_GPU_VENDOR_HIP",
                           "-Rpass-analysis=kernel-resource-usage", "-c", KERNELS, "-o", "/dev/null"], capture_output=True, text=True, check=True).stderr
    with tempfile.NamedTemporaryFile(suffix=".s") as file:
        subprocess.run([compiler, "-x", "hip", "-std=c++20", "-O3", "--offload-arch=gfx90a", *INCLUDES, "-DRANKFEED_GPU_VENDOR_HIP", "--offload-device-only",
                        "-S", KERNELS, "-o", file.name], check=True, capture_output=True)
        matrix = matrix_instructions(pathlib.Path(file.name).read_text(), r"\n\t\.globl\t", "s_endpgm\n.Lfunc_end", r"\bv_mfma_")
    kernels = {}
    for part in said.split("Function Name: ")[1:]:
        def number(name, of=part):
            return int(re.search(rf"{re.escape(name)}: (\d+)", of)[1])
        name = short(part.split()[0])
        kernels[name] = {"registers": number("VGPRs") + number("AGPRs"), "spilled_bytes": 4 * (number("VGPRs Spill") + number("SGPRs Spill")),
                         "stack_bytes": number("ScratchSize [bytes/lane]"), "shared_bytes": shared_bytes(name, 64),
                         "matrix_instructions": matrix[name], "blocks": waves_on_gfx90a(name, number("Occupancy [waves/SIMD]"))}
    return version, "gfx90a", kernels


version, architecture, kernels = {"cuda": cuda, "hip": hip}[vendor]()
assert len(kernels) == 63, sorted(kernels)
budgets = json.loads(FILE.read_text()) if FILE.exists() else {}
if "--update" in sys.argv:
    budgets[vendor] = {"compiler": version, "architecture": architecture, "kernels": dict(sorted(kernels.items()))}
    FILE.write_text(json.dumps(budgets, indent=1) + "\n")
    sys.exit(0)
budget = budgets[vendor]
if version != budget["compiler"]:
    print(f"NOT RUN: the budgets are those of {vendor} {budget['compiler']}, this is {version}")
    sys.exit(77)
problems = []
for name, now in kernels.items():
    allowed = budget["kernels"].get(name)
    if allowed is None:
        problems.append(f"{name}: not in {FILE.name}")
        continue
    problems += [f"{name}: {key} {now[key]}, budget {allowed[key]}" for key in now
                 if (now[key] < allowed[key] if key in ("blocks", "matrix_instructions") else now[key] > allowed[key])]
print("\n".join(problems) or f"{len(kernels)} kernels of {vendor} {version}, {architecture}: within their budgets")
sys.exit(1 if problems else 0)
