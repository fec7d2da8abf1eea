#!/usr/bin/env bash
# callgrind_test.sh PYTHON RANKFEED PROGRAM PLANTED: the gate on instructions lets a program pass that costs what it did, and
# stops one that a few instructions per byte were planted in. Both counts are taken here and now, so that neither
# compiler nor flags matter.
set -euo pipefail
if ! command -v valgrind >/dev/null; then
  echo "not run: no valgrind (apt-get install valgrind)"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
count() { # PYTHON RANKFEED PROGRAM OPTIONS...
  "$1" "$here/callgrind.py" --rankfeed "$2" --program "$3" --rounds 40 --baseline "$folder/baseline.json" -o "$folder/report.json" "${@:4}"
}
count "$1" "$2" "$3" --update
count "$1" "$2" "$3" --gate || { echo "FAILED: the gate stopped a program that did not change"; exit 1; }
if count "$1" "$2" "$4" --gate 2>"$folder/said"; then
  echo "FAILED: the gate let the planted regression pass: $(cat "$folder/said")"
  exit 1
fi
grep -q REGRESSION "$folder/said" || { echo "FAILED: stopped for another reason: $(cat "$folder/said")"; exit 1; }
echo "stopped, as it should be: $(cat "$folder/said")"
