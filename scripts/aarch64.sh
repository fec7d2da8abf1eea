#!/usr/bin/env bash
# Cross-compiles the runtime library for aarch64, runs it under qemu-user on images made here, and
# compares every id with this machine's. Installs the cross compiler and qemu-user when they are missing
# (as root); Highway for arm64 is unpacked into build-aarch64/, the system's architectures stay as they
# are. Needs build*/bin/rankfeed (scripts/demo.sh makes one).
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

if [[ ! -e $work/sysroot/usr/include/hwy/highway.h ]]; then
  rm -rf "$work/apt" "$work/sysroot"
  mkdir -p "$work"/apt/state/lists/partial "$work"/apt/cache/archives/partial "$work/sysroot"
  apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
       -o Dir::State="$work/apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/apt/cache")
  (cd "$work/apt" && "${apt[@]}" update && "${apt[@]}" download libhwy1 libhwy-dev) ||
    { echo "SKIPPED: Highway for arm64 cannot be downloaded"; exit 77; }
  for deb in "$work"/apt/*.deb; do dpkg-deb -x "$deb" "$work/sysroot"; done
  cp /usr/include/xxhash.h /usr/include/xxh3.h "$work/sysroot/usr/include/" # one header, any architecture
fi

cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake \
  -DRANKFEED_SYSROOT="$work/sysroot" -DRANKFEED_BUILD_BUILDER=OFF -DRANKFEED_BUILD_CLI=OFF -DRANKFEED_BUILD_PARALLEL=OFF \
  -DRANKFEED_BUILD_CROSSENCODER=OFF -DRANKFEED_BUILD_TESTS=OFF -DRANKFEED_BUILD_BENCH=OFF -DRANKFEED_BUILD_SHARED=OFF >"$work/configure.log"
cmake --build "$work/build" --target rankfeed_runtime
hwy=$work/sysroot/usr/lib/aarch64-linux-gnu # Debian's Highway is a shared library
aarch64-linux-gnu-gcc -std=c11 -O2 -Wall -Wextra -Werror -Iinclude tests/consumer/program/lines.c \
  "$work/build/src/librankfeed_runtime.a" -L"$hwy" -lhwy -lstdc++ -o "$work/lines"
file "$work/lines" 2>/dev/null || true

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
