#!/usr/bin/env bash
# Cross-compiles the runtime library for aarch64, runs it under qemu-user on images made here, and
# compares every id with this machine's; and the cross-encoder's, whose scores of the same ids are to be
# within 2e-5 of this machine's. Installs the cross compiler and qemu-user when they are missing
# (as root); Highway and simdjson for arm64 are unpacked into build-aarch64/, the system's architectures
# stay as they are. Needs build*/bin/rankfeed (scripts/demo.sh makes one).
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build-aarch64
mkdir -p "$work"

missing=()
for package in g++-aarch64-linux-gnu qemu-user; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if ((${#missing[@]})); then
  ((EUID == 0)) || { echo "SKIPPED: not root, and ${missing[*]} not installed"; exit 77; }
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi
rankfeed=${RANKFEED:-}
if [[ -z $rankfeed ]]; then
  for candidate in build/bin/rankfeed build-release/bin/rankfeed build-dev/bin/rankfeed; do
    [[ -x $candidate ]] && rankfeed=$candidate && break
  done
fi
[[ -n $rankfeed ]] || { echo "aarch64: no rankfeed program; run scripts/demo.sh first" >&2; exit 1; }

if [[ ! -e $work/sysroot/usr/include/simdjson.h ]]; then
  rm -rf "$work/apt" "$work/sysroot"
  mkdir -p "$work"/apt/state/lists/partial "$work"/apt/cache/archives/partial "$work/sysroot"
  apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
       -o Dir::State="$work/apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/apt/cache")
  (cd "$work/apt" && "${apt[@]}" update && "${apt[@]}" download libhwy1 libhwy-dev libsimdjson14 libsimdjson-dev) ||
    { echo "SKIPPED: Highway and simdjson for arm64 cannot be downloaded"; exit 77; }
  for deb in "$work"/apt/*.deb; do dpkg-deb -x "$deb" "$work/sysroot"; done
  cp /usr/include/xxhash.h /usr/include/xxh3.h "$work/sysroot/usr/include/" # one header, any architecture
fi

cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake \
  -DRANKFEED_SYSROOT="$work/sysroot" -DRANKFEED_BUILD_BUILDER=OFF -DRANKFEED_BUILD_CLI=OFF -DRANKFEED_BUILD_PARALLEL=OFF \
  -DRANKFEED_BUILD_CROSSENCODER=ON -DRANKFEED_BUILD_TESTS=OFF -DRANKFEED_BUILD_BENCH=OFF -DRANKFEED_BUILD_SHARED=OFF >"$work/configure.log"
cmake --build "$work/build" --target rankfeed_runtime rankfeed_crossencoder
hwy=$work/sysroot/usr/lib/aarch64-linux-gnu # Debian's Highway is a shared library
aarch64-linux-gnu-gcc -std=c11 -O2 -Wall -Wextra -Werror -Iinclude tests/consumer/program/lines.c \
  "$work/build/src/librankfeed_runtime.a" -L"$hwy" -lhwy -lstdc++ -o "$work/lines"
file "$work/lines" 2>/dev/null || true
# The cross-encoder, here and there, over rows of its own vocabulary.
here=$(dirname "$(dirname "$(realpath "$rankfeed")")")
[[ -e $here/gpu_handoff/librankfeed_crossencoder.a ]] || { echo "aarch64: $rankfeed is in no build folder, whose libraries score here" >&2; exit 1; }
# link_rows COMPILER BUILD OUT FLAGS...
link_rows() {
  "$1" -std=c11 -O2 -Wall -Wextra -Werror -Iinclude tests/consumer/program/rows.c "$2/gpu_handoff/librankfeed_crossencoder.a" \
    "$2/gpu_handoff/librankfeed_handoff.a" "${@:4}" -lhwy -lsimdjson -lstdc++ -lm -lpthread -o "$3"
}
link_rows gcc "$here" "$work/rows.here"
link_rows aarch64-linux-gnu-gcc "$work/build" "$work/rows.arm" -L"$hwy"
"$rankfeed" encode --special --vocab data/default.model data/sample/docs.jsonl | cut -d ' ' -f -200 | head -n 40 >"$work/rows.ids"
"$work/rows.here" data/reranker <"$work/rows.ids" >"$work/here.scores"
qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$hwy" "$work/rows.arm" data/reranker <"$work/rows.ids" >"$work/arm.scores"
python3 - "$work/here.scores" "$work/arm.scores" <<'PY'
import sys
here, arm = ([float(line) for line in open(path, encoding="ascii")] for path in sys.argv[1:])
apart = max(abs(one - other) for one, other in zip(here, arm))
if len(here) != len(arm) or len(set(here)) < 30 or not apart <= 2e-5:
    sys.exit(f"aarch64: {len(here)} and {len(arm)} scores, {apart:.2g} apart")
print(f"aarch64: {len(arm)} scores of data/reranker within {apart:.2g}")
PY

shared=${RANKFEED_SHARED_DATA:-../shared/data}
for source in data/default.model "$shared/xlmr.model" "$shared/xlmr.tokenizer.json"; do
  [[ -e $source ]] || { echo "SKIPPED: $source is not there"; continue; }
  "$rankfeed" compile "$source" -o "$work/vocab.rfimg" >/dev/null
  python3 - "$work/texts.txt" data/sample/docs.jsonl "$shared"/xquad/*.jsonl <<'PY'
import json, os, sys
with open(sys.argv[1], "w", encoding="utf-8") as out:
    for path in sys.argv[2:]:
        if not os.path.exists(path):
            continue
        for line in list(open(path, encoding="utf-8"))[:60]:
            for value in json.loads(line).values():
                if isinstance(value, str):
                    out.write(" ".join(value.splitlines()) + "\n")
    out.write("\u0130\ufb01 \uff76\uff9e e\u0301 \U0001f469\u200d\U0001f467 </s> <mask>\n \n\n")
PY
  "$rankfeed" encode --special --vocab "$work/vocab.rfimg" "$work/texts.txt" >"$work/here.ids"
  begin=$SECONDS
  qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$hwy" "$work/lines" "$work/vocab.rfimg" <"$work/texts.txt" >"$work/arm.ids"
  cmp "$work/here.ids" "$work/arm.ids"
  echo "aarch64: $(wc -l <"$work/arm.ids") texts, $(wc -w <"$work/arm.ids") ids of $source equal ($((SECONDS - begin)) s under qemu)"
done
