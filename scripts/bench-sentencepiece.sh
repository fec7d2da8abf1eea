#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes .sentencepiece/libbench_sentencepiece.so, the newest SentencePiece for bench_ratios and bench_forms: the release
# that bench/sentencepiece/requirements.txt pins, from its source distribution (pip), built with Debian's Abseil and
# Protobuf (scripts/install-deps.sh long). A stamp makes a second run return at once.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=.sentencepiece
pinned=$(grep -o '^sentencepiece==[0-9.]*' bench/sentencepiece/requirements.txt)
if ! grep -qx "$pinned" tests/requirements.txt; then
  echo "bench-sentencepiece: bench/sentencepiece/requirements.txt has $pinned, tests/requirements.txt another release" >&2
  exit 1
fi
wanted=$(cat bench/sentencepiece/* | sha256sum)
if [[ -f $folder/libbench_sentencepiece.so && -f $folder/stamp && $(<"$folder/stamp") == "$wanted" ]]; then
  exit 0
fi
echo "bench-sentencepiece: building $pinned into $folder" >&2
rm -rf "$folder"
mkdir -p "$folder/download"
scripts/python-env.sh >&2
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary sentencepiece --require-hashes \
  -d "$folder/download" -r bench/sentencepiece/requirements.txt
tar -xzf "$folder"/download/sentencepiece-*.tar.gz -C "$folder/download"
cmake -G Ninja -S bench/sentencepiece -B "$folder/build" \
  -DSENTENCEPIECE_SOURCE="$(echo "$PWD/$folder"/download/sentencepiece-*/sentencepiece)" >&2
cmake --build "$folder/build" >&2
mv "$folder/build/libbench_sentencepiece.so" "$folder/"
rm -rf "$folder/build" "$folder/download"
printf '%s\n' "$wanted" >"$folder/stamp"
