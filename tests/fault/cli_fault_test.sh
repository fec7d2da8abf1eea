#!/usr/bin/env bash
# cli_fault_test.sh RANKFEED SOURCE_DIR WORK_DIR [ROUNDS]: `compile` and `corpus build` killed at random
# times, out of disk, over the file size limit, and files cut short. What is under the output's name is
# always the file that was there before, or the whole new one; a part of a file is never accepted.
# Allocation failures are in tests/builder, tests/corpus and tests/gpu_handoff; RLIMIT_MEMLOCK and lost
# devices in tests/gpu_handoff.
set -uo pipefail
rankfeed=$1 source=$2 work=$3 rounds=${4:-25}
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
failures=0 cases=0 survived=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
model=$source/data/default.model
"$rankfeed" compile "$model" -o good.rfimg >/dev/null || fail "compile"
seq 1 3000 | sed 's/.*/{"id": "&", "text": "document & about pandas and rivers"}/' >docs.jsonl
"$rankfeed" corpus build --vocab good.rfimg --docs docs.jsonl -o good.rfc >/dev/null || fail "corpus build"
head -n 10 docs.jsonl >few.jsonl
"$rankfeed" corpus build --vocab good.rfimg --docs few.jsonl -o few.rfc >/dev/null || fail "corpus build"

# started NAME SECONDS COMMAND...: runs it and kills it after that time
killed() {
  local seconds=$1
  shift
  "$@" >/dev/null 2>&1 &
  local pid=$!
  sleep "$seconds"
  kill -KILL "$pid" 2>/dev/null || survived=$((survived + 1))
  wait "$pid" 2>/dev/null
}
for ((round = 0; round < rounds; ++round)); do
  seconds=0.0$((RANDOM % 9))$((RANDOM % 10))
  cases=$((cases + 2))
  # over nothing, and over a file that is there
  if ((round % 2)); then cp few.rfc out.rfc; else rm -f out.rfc out.rfimg; fi
  killed $seconds "$rankfeed" compile "$model" -o out.rfimg
  if [[ -e out.rfimg ]]; then cmp -s out.rfimg good.rfimg || fail "round $round: another image"; fi
  killed $seconds "$rankfeed" corpus build --vocab good.rfimg --docs docs.jsonl -o out.rfc --threads 1
  if [[ -e out.rfc ]]; then
    cmp -s out.rfc few.rfc || "$rankfeed" corpus verify out.rfc >/dev/null || fail "round $round: a broken store"
    count=$("$rankfeed" corpus info out.rfc --json | grep -o '"documents": *[0-9]*' | grep -o '[0-9]*$')
    [[ $count == 10 || $count == 3000 ]] || fail "round $round: $count documents"
  fi
  rm -f out.rfimg.tmp.*
done
((survived < 2 * rounds)) || fail "no command was killed in time"

# refused NAME COMMAND...: fails with a reason, and leaves the output as it was
refused() {
  local name=$1
  shift
  cases=$((cases + 1))
  "$@" 2>&1 >out.txt | cat >err.txt  # a limit of file sizes does not hold for a pipe
  ((PIPESTATUS[0] != 0)) || fail "$name: succeeded"
  [[ -s err.txt ]] || fail "$name: gave no reason"
}
within() { # KIBIBYTES COMMAND...: of address space
  local kibibytes=$1
  shift
  (ulimit -v "$kibibytes" && exec "$@")
}
# Paths that are no files, at every command that reads one: a message in time, and not much memory.
mkfifo pipe && mkdir -p folder
whole=("compile PATH -o out.rfimg" "info --vocab PATH" "encode --vocab PATH few.jsonl" "corpus info PATH"
  "corpus verify PATH" "corpus build --vocab PATH --docs few.jsonl -o out.rfc"
  "rerank --model PATH --vocab good.rfimg --query a --docs few.jsonl")
streams=("encode --vocab good.rfimg PATH" "corpus build --vocab good.rfimg --docs PATH -o out.rfc"
  "audit --vocab good.rfimg --trace PATH")
for path in pipe folder /dev/zero; do
  commands=("${whole[@]}")
  [[ $path == pipe ]] || commands+=("${streams[@]}") # texts may come from pipes
  for command in "${commands[@]}"; do
    # shellcheck disable=SC2086
    refused "$command of $path" within 4000000 timeout 20 "$rankfeed" ${command//PATH/$path}
    grep -q "$path" err.txt || fail "$command of $path says '$(<err.txt)'"
  done
done
refused "texts without end" within 4000000 timeout 20 "$rankfeed" encode --vocab good.rfimg </dev/zero
[[ $(timeout 20 "$rankfeed" encode --vocab good.rfimg <(echo "a panda")) == $(echo "a panda" | "$rankfeed" encode --vocab good.rfimg) ]] ||
  fail "texts from a pipe"
timeout 20 "$rankfeed" encode --vocab good.rfimg /dev/null || fail "no texts"

# The smallest address space (docs/memory.md): a message below it, work from it on.
for megabytes in 60 80 100 119; do
  refused "$megabytes MiB of address space" within $((megabytes * 1024)) "$rankfeed" --version
  grep -q "ulimit -v.*120 MiB" err.txt || fail "$megabytes MiB of address space: '$(<err.txt)'"
done
within $((120 * 1024)) "$rankfeed" --version >/dev/null || fail "120 MiB of address space: no start"
echo "a panda" | within $((160 * 1024)) "$rankfeed" encode --vocab good.rfimg >/dev/null || fail "160 MiB of address space: no ids"

limited() { # blocks of 1024 bytes; the signal of the limit is ignored, so that writes fail instead
  local blocks=$1
  shift
  (
    trap '' XFSZ
    ulimit -f "$blocks"
    "$@"
  )
}
for blocks in 0 1 8 64; do
  cp good.rfimg out.rfimg
  refused "compile over a limit of $blocks" limited $blocks "$rankfeed" compile "$model" -o out.rfimg
  cmp -s out.rfimg good.rfimg || fail "limit $blocks: the old image is gone"
  cp few.rfc out.rfc
  refused "corpus build over a limit of $blocks" limited $blocks "$rankfeed" corpus build --vocab good.rfimg \
    --docs docs.jsonl -o out.rfc
  cmp -s out.rfc few.rfc || fail "limit $blocks: the old store is gone"
done
compgen -G 'out.rfimg.*' >/dev/null && fail "a temporary is left: $(compgen -G 'out.rfimg.*')"
refused "compile to a full device" "$rankfeed" compile "$model" -o /dev/full
# A real full disk, where one may mount a small one.
mkdir -p small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
  refused "compile on a full disk" "$rankfeed" compile "$model" -o small/v.rfimg
  grep -q "No space left" err.txt || fail "full disk: $(cat err.txt)"
  refused "corpus build on a full disk" "$rankfeed" corpus build --vocab good.rfimg --docs docs.jsonl -o small/c.rfc
  [[ -z $(ls small) ]] || fail "full disk: left $(ls small)"
  umount small
else
  echo "no tmpfs can be mounted here: the full disk was not tried"
fi

# Files cut short, at any length, are refused by their readers.
cut() { # FILE: its lengths to try
  local size
  size=$(stat -c %s "$1")
  echo 0 1 63 64 4096 $((size / 2)) $((size - 1))
}
for size in $(cut good.rfimg); do
  head -c "$size" good.rfimg >cut.rfimg
  refused "image of $size bytes" "$rankfeed" info --vocab cut.rfimg
done
for size in $(cut good.rfc); do
  head -c "$size" good.rfc >cut.rfc
  refused "store of $size bytes" "$rankfeed" corpus verify cut.rfc
done
for size in $(cut "$model"); do
  head -c "$size" "$model" >cut.model
  refused "model of $size bytes" "$rankfeed" compile cut.model -o cut-model.rfimg
  [[ ! -e cut-model.rfimg ]] || fail "model of $size bytes gave an image"
done
echo "faults injected: $((2 * rounds - survived)) processes killed"
echo "faults injected: $((cases - 2 * rounds)) full disks and files cut short"
echo "$cases cases, $((2 * rounds - survived)) commands killed, $failures failures"
exit $((failures > 0))
