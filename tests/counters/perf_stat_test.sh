#!/usr/bin/env bash
# perf_stat_test.sh PROBE: what the probe counts of its own work against what `perf stat` counts of the whole process.
# The process does little else, so perf's numbers are at most 5 % larger, and never smaller by more than 1 %.
# Events that perf reports as not supported must be missing in the probe's output too.
set -euo pipefail
if ! command -v perf >/dev/null || ! perf stat -x, -e task-clock true >/dev/null 2>&1; then
  echo "not run: no perf (apt-get install linux-perf), or it may not count"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
perf stat -x, -o "$folder/perf" -e page-faults,task-clock,cycles:u,instructions:u,branch-misses:u "$1" >"$folder/own"
compared=0
while IFS=, read -r value _ event _; do
  case $event in
    page-faults) name=page_faults ;;
    task-clock) name=task_clock_ns ;;
    cycles:u) name=cycles ;;
    instructions:u) name=instructions ;;
    *) continue ;;
  esac
  own=$(awk -v n="$name" '$1 == n {print $2}' "$folder/own")
  if [[ $value == *"not supported"* || $value == *"not counted"* ]]; then
    [[ -z $own ]] || { echo "FAILED: perf has no $event, the probe says $own"; exit 1; }
    echo "$name: unavailable to both"
    continue
  fi
  awk -v n="$name" -v p="$value" -v o="$own" 'BEGIN {
    if (n == "task_clock_ns" && p < 1e6) p *= 1e6   # perf prints milliseconds
    r = p / o; printf "%s: perf %.0f, own %.0f, ratio %.4f\n", n, p, o, r
    exit !(r > 0.99 && r < 1.05) }' || { echo "FAILED: $name"; exit 1; }
  compared=$((compared + 1))
done < <(grep -v '^#' "$folder/perf" | sed 's/^\([^,]*\),/\1,/')
((compared >= 2)) || { echo "FAILED: only $compared events compared"; exit 1; }
