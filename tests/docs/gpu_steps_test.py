# SPDX-License-Identifier: MIT
"""gpu_steps_test.py SOURCE: the list "Not run" of docs/handoff.md names every step of bench/gpu_run.py, by an expression of
--only that finds it, and nothing that is no step. Standard library only."""

import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    bundle = pathlib.Path(folder)
    (bundle / "files").mkdir()
    (bundle / "files" / "commit").write_text("none\n")
    plan = subprocess.run([sys.executable, "-B", source / "bench" / "gpu_run.py", bundle, "--dry-run"], check=True,
                          capture_output=True, text=True).stdout
steps = re.findall(r"^not run  (\S+: [^:\n]+):", plan, re.M)
page = (source / "docs" / "handoff.md").read_text(encoding="utf-8").split("\n## Not run\n")[1].split("\n## ")[0]
listed = [e.replace("\\|", "|") for e in re.findall(r"^\|.*\| `'([^`]+)'` \|", page, re.M)]
problems = [f"no row of the list finds the step {s!r}" for s in steps if not any(re.search(e, s) for e in listed)]
problems += [f"{e!r} finds no step" for e in listed if not any(re.search(e, s) for s in steps)]
print("\n".join(problems) or f"{len(steps)} steps, {len(listed)} rows")
sys.exit(1 if problems or len(steps) < 10 or len(listed) < 5 else 0)
