#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every check and measurement that needs a GPU, from a folder that scripts/gpu-check.sh filled.

    gpu_run.py BUNDLE [--out FILE] [--seconds N] [--only REGEX] [--dry-run | --fake]

BUNDLE holds bin/ (device tests, benchmarks, the backends), lib/ (shared libraries that the machine
may lack), and files/ (vocabulary, texts, golden models). Steps, for CUDA and for HIP as far as they are there:
device tests, compute-sanitizer memcheck and racecheck, handoff latency (pageable, page-locked, mapped), streaming
pipelines of two model sizes with the device's idle share, one of BERT's kind whose token types travel in slots and graphs
(its scores are the CPU's), the same through PyTorch, and a batch of the Python package that torch takes in place. Each step ends as
"passed", "failed" or "not run" with the reason; FILE (default bench/results/gpu.json of the source tree) gets
all of it with the machine. Where a device is listed, tests that were skipped and products that the vendor's library did
not do fail their step. --only: steps whose name the expression is found in. Status 0: nothing failed; 1: something
did; 77: there is no device. --seconds limits the whole run: what no longer fits is "not run". --fake: the bundle's
backends run over the fake runtime (tests/fake_gpu), in small sizes, to try this program; its numbers say nothing.
Standard library only."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = {"6x384": ("6", "384"), "12x768": ("12", "768")}
FAKE_MODELS = {"1x32": ("1", "32")}  # the fake device takes seconds for a few tokens
VENDORS = ("cuda", "hip", "hip_nvidia")  # hip: AMD; hip_nvidia: the same sources through HIP's NVIDIA headers
F16_TOLERANCE = 2e-2


class Runner:
    def __init__(self, bundle, seconds, dry, only, fake=False):
        self.bundle, self.dry, self.begin, self.seconds, self.only = bundle, dry, time.monotonic(), seconds, only
        self.fake, self.models, self.steps = fake, FAKE_MODELS if fake else MODELS, []
        self.environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(
            [str(bundle / "lib"), *self.torch_libraries(), os.environ.get("LD_LIBRARY_PATH", "")]).strip(":"),
            "RANKFEED_SOURCE_DIR": str(bundle / "files"), "RANKFEED_GPU_LIBRARIES": str(bundle / "bin"),
            "RANKFEED_MADE_MODELS": str(bundle / "files" / "models")}
        if fake:
            self.environment["RANKFEED_DEVICE_TEST_SMALL"] = "1"

    @staticmethod
    def torch_libraries():
        """cuBLASLt may be there with PyTorch's wheels only."""
        for path in sys.path:
            found = sorted({p.parent for p in pathlib.Path(path).glob("nvidia/*/lib/libcublasLt.so.*")}) if path else []
            if found:
                return [str(p) for p in found]
        return []

    def left(self):
        return self.seconds - (time.monotonic() - self.begin)

    def run(self, name, command, limit, reason=None, before=None, **environment):
        """Returns the output, or None when the step did not pass. before: what makes its inputs, not timed."""
        if not re.search(self.only, name):
            return None
        command = [str(part) for part in command]
        step = {"step": name, "command": " ".join(command)}
        self.steps.append(step)
        if reason is None and not self.dry and self.left() < 5:
            reason = "no time left"
        if reason is not None or self.dry:
            step.update(status="not run", reason=reason or "dry run")
            print(f"not run  {name}: {step['reason']}", flush=True)
            return None
        if before is not None:
            before()
        begin = time.monotonic()
        try:
            done = subprocess.run(command, env={**self.environment, **environment}, cwd=self.bundle, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=min(limit, self.left()))
            failed = None if done.returncode == 0 else f"status {done.returncode}"
            out, err = done.stdout, done.stderr
        except subprocess.TimeoutExpired as expired:
            failed = f"more than {expired.timeout:.0f} s"
            out, err = ((text or b"").decode("utf-8", "replace") if isinstance(text, bytes) else text or ""
                        for text in (expired.stdout, expired.stderr))
        except OSError as error:
            failed, out, err = str(error), "", ""
        step.update(status="failed" if failed else "passed", seconds=round(time.monotonic() - begin, 1))
        if failed:
            step.update(reason=failed, output=(out + err)[-3000:])
        print(f"{step['status']:8} {name} ({step['seconds']} s){': ' + failed if failed else ''}", flush=True)
        return None if failed else out

    def note(self, **values):
        self.steps[-1].update(values)

    def fail(self, reason):
        self.note(status="failed", reason=reason)
        print(f"failed   {self.steps[-1]['step']}: {reason}", flush=True)


def said(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def machine():
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    query = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,pcie.link.gen.max,pcie.link.width.max"
    return {"cpu": cpu[1] if cpu else platform.machine(), "cpus": os.cpu_count(), "kernel": platform.release(),
            "gpu": said(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]).splitlines(),
            "load_average": os.getloadavg(), "python": platform.python_version(),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def note_tests(run, output):
    """A step that ran on a machine with a device: whatever was skipped for want of one has failed."""
    skipped = re.findall(r"NOT RUN: (.*)", output)
    passed = re.search(r"\[  PASSED  \] (\d+) test", output)
    run.note(tests_passed=int(passed[1]) if passed else 0, tests_not_run=skipped)
    if skipped or passed is None or passed[1] == "0":
        run.fail(f"a device is listed, and the tests did not run on it: {skipped[0] if skipped else 'none passed'}")


def note_pipeline(run, vendor, result, graphs=False):
    run.note(result=result)
    if graphs and (result["graph_launches"] == 0 or result["graph_failures"] != 0):
        run.fail(f"{result['graph_launches']} batches ran as graphs, {result['graph_failures']} graphs failed")
    if "tiled" in result["gemm"] and vendor != "hip_nvidia":  # which has no library of its own
        run.fail(f"products are not the vendor's library's: {result['gemm']}")


def numbers(path):
    return [float(line) for line in path.read_text().split()]


def make_model(run, work, name, *kind):
    """A model of that size with random weights, in work; made by the first step that asks for it."""
    model = work / "_".join(["model", name, *kind]).replace("--", "")
    layers, hidden = run.models[name]
    if not model.exists():
        subprocess.run([run.bundle / "bin" / "bench_pipeline", "--vocab", run.bundle / "files" / "vocab.rfimg", "--make-model", model, "--layers",
                        layers, "--hidden", hidden, *kind], env=run.environment, check=True)
    return model


def vendor_steps(run, vendor, work, has_device):
    binaries, files = run.bundle / "bin", run.bundle / "files"
    built = (binaries / f"librankfeed_handoff_{vendor}.so").exists()
    no = None if built else f"the {vendor} backend was not built"
    if no is None and not has_device(vendor):
        no = "no AMD device" if vendor == "hip" else "no NVIDIA device"
    tests = binaries / "handoff_device_test"
    chosen = f"--gtest_filter=*/{vendor}"
    out = run.run(f"{vendor}: device tests", [tests, chosen], 300, no)
    if out is not None:
        note_tests(run, out)
    sanitizer = shutil.which("compute-sanitizer") or next(
        (str(p) for p in pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer")), None)
    lacking = no or ("over the fake runtime" if run.fake else None if sanitizer else "compute-sanitizer is not installed")
    for tool in ("memcheck", "racecheck"):
        # Sizes that make the kernels turn every corner; the sanitizer costs a factor of up to a hundred.
        out = run.run(f"{vendor}: compute-sanitizer {tool}",
                      [sanitizer or "compute-sanitizer", "--tool", tool, "--error-exitcode", "9", tests,
                       f"--gtest_filter=*/{vendor}:-*EveryByte*"], 240, lacking, RANKFEED_DEVICE_TEST_SMALL="1")
        if out is not None:
            run.note(said=re.findall(r"ERROR SUMMARY.*|RACECHECK SUMMARY.*", out))
    report = work / f"{vendor}_handoff.json"
    out = run.run(f"{vendor}: handoff latency", [binaries / "bench_handoff", f"--device={vendor}", "--benchmark_filter=-forward",
                  f"--benchmark_out={report}", "--benchmark_out_format=json", f"--benchmark_min_time={0.01 if run.fake else 0.2}"], 240, no)
    if out is not None:
        rows = json.loads(report.read_text())["benchmarks"]
        run.note(microseconds={r["name"].replace("/manual_time", ""): {"p50": round(r["p50_us"], 2), "p99": round(r["p99_us"], 2)}
                               for r in rows if "p50_us" in r})
    few = ["--queries", "2", "--pairs", "3", "--max-length", "40"] if run.fake else ["--queries", "200"]
    for name in run.models:
        for mapped in ("0",) if run.fake else ("0", "measure"):
            out = run.run(f"{vendor}: pipeline {name}, {'copied' if mapped == '0' else 'copied or in place by size'}",
                          [binaries / "bench_pipeline", "--vocab", files / "vocab.rfimg", "--docs", files / "texts.txt", "--model", work / f"model_{name}",
                           "--device", vendor, "--dtype", "f16", *few, "--slots", "4", "--mapped", mapped,
                           "--scores", work / f"{vendor}_{name}.scores"], 120, no, before=lambda: make_model(run, work, name))
            if out is not None:
                note_pipeline(run, vendor, json.loads(out))
    name = next(iter(run.models))  # the smaller: its kernels are the shortest
    small = few if run.fake else ["--queries", "200", "--pairs", "4", "--max-length", "64"]
    for graphs in ("2048",) if run.fake else ("0", "2048"):
        out = run.run(f"{vendor}: pipeline {name}, small batches {'launched' if graphs == '0' else 'as graphs'}",
                      [binaries / "bench_pipeline", "--vocab", files / "vocab.rfimg", "--docs", files / "texts.txt", "--model", work / f"model_{name}",
                       "--device", vendor, "--dtype", "f16", *small, "--slots", "4", "--graph-tokens", graphs],
                      120, no, before=lambda: make_model(run, work, name))
        if out is not None:
            note_pipeline(run, vendor, json.loads(out), graphs != "0")
    bert_step(run, vendor, work, no)


def bert_step(run, vendor, work, no):
    """Token types through slots, copies and graphs: a request of BERT's kind scores as on the CPU."""
    files, name = run.bundle / "files", next(iter(run.models))
    few = ["--queries", "4", "--pairs", "3", "--max-length", "40"]
    command = [run.bundle / "bin" / "bench_pipeline", "--vocab", files / "vocab.rfimg", "--docs", files / "texts.txt", "--model",
               work / f"model_{name}_bert", *few]
    on_cpu, here = work / "cpu_bert.scores", work / f"{vendor}_bert.scores"

    def before():
        make_model(run, work, name, "--bert")
        subprocess.run([*command, "--device", "host", "--scores", on_cpu], env=run.environment, check=True, stdout=subprocess.DEVNULL)
    out = run.run(f"{vendor}: pipeline {name} with token types", [*command, "--device", vendor, "--dtype", "f16", "--slots", "4",
                  "--graph-tokens", "2048", "--scores", here], 120, no, before=before)
    if out is None:
        return
    note_pipeline(run, vendor, json.loads(out), True)
    worst = max(abs(a - b) for a, b in zip(numbers(here), numbers(on_cpu), strict=True))
    run.note(largest_difference_from_cpu=worst)
    if not worst <= F16_TOLERANCE:
        run.fail(f"scores differ from the CPU's by {worst}")


def pytorch_steps(run, work, has_device):
    reason = "over the fake runtime" if run.fake else None if has_device("cuda") else "no NVIDIA device"
    if reason is None and subprocess.run([sys.executable, "-c", "import torch, transformers, tokenizers; assert torch.cuda.is_available()"],
                                         capture_output=True).returncode != 0:
        reason = "no torch with CUDA, transformers and tokenizers"
    files = run.bundle / "files"
    for name in run.models:
        scores = work / f"pytorch_{name}.scores"
        out = run.run(f"PyTorch: pipeline {name}",
                      [sys.executable, files / "gpu_pytorch.py", "--model", work / f"model_{name}", "--tokenizer", files / "tokenizer.json",
                       "--docs", files / "texts.txt", "--queries", "200", "--scores", scores], 180, reason,
                      before=lambda: make_model(run, work, name))
        if out is None:
            continue
        run.note(result=json.loads(out))
        for vendor in VENDORS:
            mine = work / f"{vendor}_{name}.scores"
            if mine.exists():
                worst = max(abs(a - b) for a, b in zip(numbers(mine), numbers(scores), strict=True))
                run.note(**{f"largest_difference_from_{vendor}": worst})
                if not worst <= F16_TOLERANCE:
                    run.fail(f"scores differ from {vendor}'s by {worst}")
    if reason is None and subprocess.run([sys.executable, "-c", "import rankfeed"], capture_output=True).returncode != 0:
        reason = "no rankfeed package (pip install .)"
    libraries = f"{run.bundle / 'bin'}:{run.environment['LD_LIBRARY_PATH']}"
    out = run.run("PyTorch: page-locked batch", [sys.executable, files / "gpu_page_locked.py", "--vocab", files / "vocab.rfimg"], 120, reason,
                  LD_LIBRARY_PATH=libraries)
    if out is not None:
        run.note(result=json.loads(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / "gpu.json")
    parser.add_argument("--seconds", type=float, default=560)
    parser.add_argument("--only", default="", help="expression that a step's name must match")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--fake", action="store_true", help="the backends run over the fake runtime")
    arguments = parser.parse_args()
    bundle = arguments.bundle.resolve()
    work = bundle / "work"
    work.mkdir(exist_ok=True)
    run = Runner(bundle, arguments.seconds, arguments.dry_run, arguments.only, arguments.fake)
    context = machine()

    def has_device(vendor):
        if arguments.fake:
            return True
        return os.path.exists("/dev/kfd") if vendor == "hip" else bool(context["gpu"])
    for vendor in VENDORS:
        vendor_steps(run, vendor, work, has_device)
    pytorch_steps(run, work, has_device)
    any_device = has_device("cuda") or has_device("hip")
    bad = [s for s in run.steps if s["status"] == "failed"]
    report = {"machine": context, "commit": (bundle / "files" / "commit").read_text().strip(), "steps": run.steps}
    for step in run.steps:  # no paths of the machine
        step["command"] = step["command"].replace(str(bundle) + "/", "").replace(sys.executable, "python3")
    if arguments.fake:
        report["machine"] = {"fake": "tests/fake_gpu: no number here is a device's"}
    if not arguments.dry_run and any_device:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print(f"written: {arguments.out}")
    passed = sum(s["status"] == "passed" for s in run.steps)
    print(f"{passed} passed, {len(bad)} failed, {len(run.steps) - passed - len(bad)} not run")
    sys.exit(1 if bad else 0 if any_device or arguments.dry_run else 77)


if __name__ == "__main__":
    main()
