# SPDX-License-Identifier: MIT
"""Runs drift_suites.py with every version of a list, each in a fresh environment: see scripts/drift.sh.

drift.json holds the list and the differences that are explained. An explanation names package, suite, mode, the first
and the last version it is of ("from", "to", both included, both may be left out), how many comparisons differ,
the reason, and what follows it. The number must be met exactly, and an explanation that nothing needs fails too:
a difference is never expected to be there some day. "error" instead of "differ" explains a suite that cannot run.
"""

import argparse
import datetime
import hashlib
import json
import platform
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / "build-drift"
NEWEST, PRE_RELEASE = "newest", "pre-release"
NOT_RUN = "not run"


def version_key(version):
    from pip._vendor.packaging.version import Version
    return Version(version)


def install(package, version, keep):
    """A fresh environment with this version; returns its interpreter, or why there is none."""
    folder = ENVIRONMENTS / f"{package}-{version}"
    python = folder / "bin" / "python"
    if keep and (folder / "complete").exists():
        return python, None
    what = package if version in (NEWEST, PRE_RELEASE) else f"{package}=={version}"
    # transformers draws its tokenizers in; the others are modules that need nothing.
    commands = [[sys.executable, "-m", "venv", "--clear", "--without-pip", folder],
                [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check",
                 "--only-binary", ":all:", *(["--pre"] if version == PRE_RELEASE else []),
                 *(["--no-deps"] if package != "transformers" else []), what],
                [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check",
                 "--only-binary", ":all:", "numpy"]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["?"])[-1]
    (folder / "complete").touch()
    return python, None


def run(package, version, args):
    """{"versions", "suites"}, or {"not run": reason}."""
    python, reason = install(package, version, args.keep)
    if python is None:
        return {NOT_RUN: reason}
    command = [python, Path(__file__).with_name("drift_suites.py"), package, "--driver", args.driver,
               "--data", args.data, "--stream", args.stream, *(["--quick"] if args.quick else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {NOT_RUN: (done.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(done.stdout)


def run_all(plan, args):
    """Results by package and by the version that was installed; the newest and pre-release ones once."""
    results = {}
    for package, versions in plan["versions"].items():
        if args.package and package not in args.package:
            continue
        of_package = results[package] = {}
        for version in [*versions, NEWEST, PRE_RELEASE]:
            if args.version and version not in args.version:
                continue
            if version in (NEWEST, PRE_RELEASE):
                python, reason = install(package, version, False)
                if python is not None:
                    code = f"import importlib.metadata as m; print(m.version({package!r}))"
                    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
                    if found in of_package:
                        continue
            result = run(package, version, args)
            name = result["versions"][package] if "versions" in result else version
            of_package[name] = result
            print(f"{package} {name}: " + (result.get(NOT_RUN) or ", ".join(
                f"{s['suite']} ({s['mode']}) {s.get('error') or s['differ']}" for s in result["suites"])), flush=True)
    return results


def covers(explanation, package, version, suite):
    low, high = explanation.get("from"), explanation.get("to")
    return (explanation["package"] == package and explanation["suite"] == suite["suite"]
            and explanation["mode"] == suite["mode"]
            and (low is None or version_key(low) <= version_key(version))
            and (high is None or version_key(version) <= version_key(high)))


def judge(results, expected):
    """Failures, as sentences. Gives each differing suite its explanation."""
    failures, used = [], set()
    for package, versions in results.items():
        for version, result in versions.items():
            for suite in result.get("suites", []):
                where = f"{package} {version}, {suite['suite']}, {suite['mode']}"
                mine = [i for i, e in enumerate(expected) if covers(e, package, version, suite)]
                used.update(mine)
                wanted = [(expected[i].get("differ", 0), expected[i].get("error")) for i in mine] or [(0, None)]
                if len(mine) > 1:
                    failures.append(f"{where}: explained {len(mine)} times")
                differ, error = wanted[0]
                if suite["differ"] != differ or (error or "") not in suite.get("error", "") or (
                        "error" in suite and not error):
                    failures.append(f"{where}: {suite.get('error', '')} {suite['differ']:,} of {suite['compared']:,} differ; "
                                    f"{differ:,} are explained")
                elif not suite["compared"] and not error:
                    failures.append(f"{where}: nothing was compared")
                elif mine:
                    suite["explanation"] = mine[0]
    return failures, used


def table(results, expected):
    lines, notes = [], []
    for package, versions in results.items():
        ran = [r for r in versions.values() if "suites" in r]
        columns = list(dict.fromkeys((s["suite"], s["mode"]) for r in ran for s in r["suites"]))
        modes = len({mode for _, mode in columns})
        heads = [f"{suite} ({mode})" if modes > 1 else suite for suite, mode in columns]
        compared = {(s["suite"], s["mode"]): s["compared"] for r in ran for s in r["suites"] if "error" not in s}
        lines += [f"\n## {package}\n", "| version | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|",
                  "| comparisons | " + " | ".join(f"{compared.get(c, 0):,}" for c in columns) + " |"]
        for version, result in versions.items():
            if NOT_RUN in result:
                lines.append(f"| {version} | not run: {result[NOT_RUN]} " + "|" * len(columns))
                continue
            cells = []
            for column in columns:
                suite = next(s for s in result["suites"] if (s["suite"], s["mode"]) == column)
                mark = ""
                if "explanation" in suite:
                    if suite["explanation"] not in notes:
                        notes.append(suite["explanation"])
                    mark = f" [{notes.index(suite['explanation']) + 1}]"
                cells.append(("cannot run" if "error" in suite else f"{suite['differ']:,}") + mark)
            with_tokenizers = result["versions"].get("tokenizers") if package == "transformers" else None
            lines.append(f"| {version}" + (f" (tokenizers {with_tokenizers})" if with_tokenizers else "")
                         + " | " + " | ".join(cells) + " |")
    lines.append("")
    for number, index in enumerate(notes, 1):
        e = expected[index]
        lines.append(f"{number}. {e['reason']} Followed by: {e['followed_by']}.")
    return "\n".join(lines) + "\n"


HEAD = """# Drift: the engine against every version of its references

Made by `scripts/drift.sh` on {date}; not written by hand. Each version was installed into a fresh environment and
ran the same suites: a number is how many comparisons differ. Of SentencePiece both rules are run with every
version; a version follows one of them, and what differs from the other one shows that the suites tell them apart.
Every number but 0 is explained below and in `tests/oracle/drift.json`, which the run checks exactly: a difference
that is not explained, or one that is gone, fails it. Versions last seen: {seen}.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--stream", required=True)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the texts; numbers are not judged")
    parser.add_argument("--keep", action="store_true", help="use environments of an earlier run")
    parser.add_argument("--package", action="append")
    parser.add_argument("--version", action="append")
    args = parser.parse_args()
    plan = json.loads(Path(__file__).with_name("drift.json").read_text())
    results = run_all(plan, args)
    if args.quick:
        print("quick: differences were not judged")
        return 0
    failures, used = judge(results, plan["expected"])
    text = table(results, plan["expected"])
    print(text)
    if not (args.package or args.version):
        for i, e in enumerate(plan["expected"]):
            if i not in used:
                failures.append(f"nothing differs as explained: {e}")
        seen = {package: [v for v, r in versions.items() if "suites" in r][-1] for package, versions in results.items()}
        date = datetime.date.today().isoformat()
        (ROOT / "docs/drift.md").write_text(
            HEAD.format(date=date, seen=", ".join(f"{p} {v}" for p, v in seen.items())) + text)
        (ROOT / "docs/drift-results.json").write_text(json.dumps({
            "date": date, "python": platform.python_version(),
            "stream_sha256": hashlib.sha256(Path(args.stream).read_bytes()).hexdigest(),
            "failures": failures, "results": results}, indent=1) + "\n")
    for failure in failures:
        print("DRIFT " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
