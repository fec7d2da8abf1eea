# SPDX-License-Identifier: MIT
"""gpu_run_test.py SOURCE: bench/gpu_run.py, over programs that say what real ones say when things go wrong: a step whose tests were
skipped, a pipeline whose products the tiled kernel did, and scores that are not the CPU's have failed where a device is listed.
Standard library only."""

import json
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
problems = []


def run(tests_say, gemm, graphs=1, failures=0, score=0.5):
    """Statuses of the steps "cuda: device tests" and "cuda: pipeline", and the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = pathlib.Path(folder)
        for name in ("bin", "files", "lib"):
            (bundle / name).mkdir()
        (bundle / "files" / "commit").write_text("none\n")
        (bundle / "bin" / "librankfeed_handoff_cuda.so").write_text("")
        programs = {"handoff_device_test": tests_say, "bench_pipeline": json.dumps({"gemm": gemm, "graph_launches": graphs, "graph_failures": failures}), "bench_handoff": "{}"}
        scores = f"""
case "$*" in *host*) score=0.5 ;; *) score={score} ;; esac
while [ $# -gt 0 ]; do
  if [ "$1" = --scores ]; then echo $score >"$2"; fi
  shift
done
"""
        for name, says in programs.items():
            (bundle / "bin" / name).write_text(f"#!/bin/sh{scores}cat <<'END'\n{says}\nEND\n")
            (bundle / "bin" / name).chmod(0o755)
        out = bundle / "gpu.json"
        done = subprocess.run([sys.executable, "-B", source / "bench" / "gpu_run.py", bundle, "--fake", "--out", out, "--only",
                               "^cuda: (device|pipeline)"], capture_output=True, text=True)
        if not out.exists():
            raise SystemExit(done.stdout + done.stderr)
        steps = {s["step"].split(",")[0]: s["status"] for s in json.loads(out.read_text())["steps"]}
        pipelines = {step["status"] for step in json.loads(out.read_text())["steps"] if "pipeline" in step["step"]}
        return steps["cuda: device tests"], " ".join(sorted(pipelines)), done.returncode


def expect(wanted, *inputs):
    got = run(*inputs)
    if got != wanted:
        problems.append(f"{inputs}: {got}, not {wanted}")


PASSED = "[  PASSED  ] 4 tests."
expect(("passed", "passed", 0), PASSED, "cuBLASLt 130000")
expect(("failed", "passed", 1), PASSED + "\nNOT RUN: kernels against the CPU: the cuda backend finds no device", "cuBLASLt 130000")
expect(("failed", "passed", 1), "[  PASSED  ] 0 tests.", "cuBLASLt 130000")
expect(("passed", "failed", 1), PASSED, "tiled kernel (no cuBLASLt)")
expect(("passed", "failed", 1), PASSED, "cuBLASLt 130000, 12 by tiled kernel")
expect(("passed", "failed passed", 1), PASSED, "cuBLASLt 130000", 0)
expect(("passed", "failed passed", 1), PASSED, "cuBLASLt 130000", 5, 1)
expect(("passed", "failed passed", 1), PASSED, "cuBLASLt 130000", 1, 0, 0.6)
print("\n".join(problems) or "8 cases")
sys.exit(1 if problems else 0)
