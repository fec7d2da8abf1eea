# SPDX-License-Identifier: MIT
"""Runs drift_suites.py with every version of a list, each in a fresh environment: see scripts/drift.sh.

drift.json holds the list and the differences that are explained. An explanation names package, suite, mode, the first
and the last version it is of ("from", "to", both included, both may be left out), how many comparisons differ,
the reason, and what follows it. The number must be met exactly, and an explanation that nothing needs fails too:
an expectation that has become wrong is not kept. "refused" explains files that a version cannot read, "error" a
suite that cannot run.
"""

import argparse
import datetime
import hashlib
import json
import platform
import subprocess
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from versions import version_key  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / "build-drift"
NEWEST, PRE_RELEASE = "newest", "pre-release"
NOT_RUN = "not run"


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


def run(package, python, args):
    """{"versions", "suites"}, or {"not run": reason}."""
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
            open_end = version in (NEWEST, PRE_RELEASE)
            python, reason = install(package, version, args.keep and not open_end)
            if python and open_end:
                code = f"import importlib.metadata as m; print(m.version({package!r}))"
                found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
                if found in of_package:
                    continue
            result = run(package, python, args) if python else {NOT_RUN: reason}
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


def outcome(entry):
    """What must be met exactly: differences, files that the version refuses, an exception."""
    return {key: entry[key] for key in ("differ", "refused", "error") if entry.get(key)}


def judge(results, expected):
    """Failures, as sentences, and which explanations were needed. Gives each suite its explanation."""
    failures, used = [], set()
    for package, versions in results.items():
        for version, result in versions.items():
            for suite in result.get("suites", []):
                suite.pop("explanation", None)  # of an earlier run, perhaps with another list
                mine = [i for i, e in enumerate(expected) if covers(e, package, version, suite)]
                used.update(mine)
                explained = [outcome(expected[i]) for i in mine] or [{}]
                if explained != [outcome(suite)] or not (suite["compared"] or suite.get("error")):
                    failures.append(f"{package} {version}, {suite['suite']}, {suite['mode']}: {outcome(suite)} of "
                                    f"{suite['compared']:,} comparisons; explained: {explained}")
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
                suite = next((s for s in result["suites"] if (s["suite"], s["mode"]) == column), None)
                if suite is None:
                    cells.append("-")
                    continue
                mark = ""
                if "explanation" in suite:
                    e = expected[suite["explanation"]]
                    note = f"{e['reason']} Followed by: {e['followed_by']}."
                    if note not in notes:
                        notes.append(note)
                    mark = f" [{notes.index(note) + 1}]"
                files = f", {suite['refused']} files refused" if "refused" in suite else ""
                cells.append(("cannot run" if "error" in suite else f"{suite['differ']:,}{files}") + mark)
            with_tokenizers = result["versions"].get("tokenizers") if package == "transformers" else None
            lines.append(f"| {version}" + (f" (tokenizers {with_tokenizers})" if with_tokenizers else "")
                         + " | " + " | ".join(cells) + " |")
    lines.append("")
    for number, note in enumerate(notes, 1):
        begin = f"{number}. "
        lines.append(textwrap.fill(note, 120, initial_indent=begin, subsequent_indent=" " * len(begin), break_long_words=False, break_on_hyphens=False))
    return "\n".join(lines) + "\n"


HEAD = """# Drift: the engine against every version of its references

Made by `scripts/drift.sh`; not written by hand. Each version was installed into a fresh environment and ran the same
suites: a number is how many comparisons differ. Of SentencePiece both rules are run with every version; a version
follows one of them, and what differs from the other one shows that the suites tell them apart. Every number but 0 is
explained below and in `tests/oracle/drift.json`; the run fails where a number is another one than is explained there.
Versions last seen: {seen}.
"""
RESULTS = ROOT / "build-drift" / "results.json"


def last_seen(entry):
    return [version for version, result in entry["versions"].items() if "suites" in result][-1]


def write(kept, expected, packages):
    """Writes docs/drift.md of all packages, and RESULTS; returns the differences that are not explained."""
    results = {package: entry["versions"] for package, entry in kept.items()}
    failures, used = judge(results, expected)
    failures += [f"{package}: no results; run it once without --package" for package in packages if package not in results]
    failures += [f"nothing differs as explained: {e}" for i, e in enumerate(expected)
                 if i not in used and e["package"] in results]
    seen = ", ".join(f"{package} {last_seen(entry)} ({entry['date']})" for package, entry in kept.items())
    text = HEAD.format(seen=seen) + table(results, expected)
    if failures:
        text += "\n## Not explained\n\n" + "".join(f"* {failure}\n" for failure in failures)
    if all(package in results for package in packages):
        (ROOT / "docs" / "drift.md").write_text(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--stream", required=True)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the texts; judges and writes nothing")
    parser.add_argument("--keep", action="store_true", help="use environments of an earlier run")
    parser.add_argument("--package", action="append", help="these only; results of the others are kept")
    parser.add_argument("--version", action="append", help="these only; judges, but writes nothing")
    parser.add_argument("--judge", action="store_true",
                        help="run nothing: judge the results of the last run again, after drift.json was changed")
    args = parser.parse_args()
    plan = json.loads(Path(__file__).with_name("drift.json").read_text())
    results = {} if args.judge else run_all(plan, args)
    if args.quick:
        print("quick: differences were not judged")
        return 0
    if args.version:
        failures, _ = judge(results, plan["expected"])
    else:
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept = {package: kept[package] for package in plan["versions"] if package in kept}
        for package, versions in results.items():
            kept[package] = {"date": datetime.date.today().isoformat(), "python": platform.python_version(),
                             "stream_sha256": hashlib.sha256(Path(args.stream).read_bytes()).hexdigest(),
                             "versions": versions}
        failures = write(kept, plan["expected"], plan["versions"])
    for failure in failures:
        print("DRIFT " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
