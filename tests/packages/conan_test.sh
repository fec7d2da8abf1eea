#!/usr/bin/env bash
# conan_test.sh CONAN SOURCE WORK: `conan create packaging/conan` with a home of its own in WORK: the package is built from
# the source tree, and its test_package finds it, encodes a text and compares the ids.
set -euo pipefail
conan=$1 source=$2 work=$3
[[ -x $conan ]] || { echo "SKIPPED: no $conan (scripts/python-env.sh long makes it)"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
export CONAN_HOME=$work/home
"$conan" profile detect >"$work/profile.log" 2>&1
"$conan" create "$source/packaging/conan" --no-remote --build=missing -c tools.build:jobs="$(nproc)" \
  -c tools.cmake.cmaketoolchain:generator=Ninja -c tools.cmake.cmake_layout:test_folder="$work/test" \
  >"$work/create.log" 2>&1 || { tail -40 "$work/create.log"; exit 1; }
grep -E '^(0 5 6 7 8 9 10 2|rankfeed .* encodes)' "$work/create.log"
[[ $(grep -cE '^(0 5 6 7 8 9 10 2|rankfeed .* encodes)' "$work/create.log") == 2 ]]
rm -rf "${work:?}/home"
