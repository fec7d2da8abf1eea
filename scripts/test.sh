#!/usr/bin/env bash
# Installs everything, then builds and runs all tests optimized and with AddressSanitizer and
# UndefinedBehaviorSanitizer, those that have threads with ThreadSanitizer, and the core of the runtime
# with arithmetic that wraps or loses as an error. Ends with one line per configuration and a non-zero
# status when any of them failed.
#   scripts/test.sh              all four
#   scripts/test.sh release ...  only the named presets of CMakePresets.json
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scripts/install-deps.sh test || exit 1
scripts/python-env.sh || exit 1

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=true # another clone finds the same objects
fi
export RANKFEED_PYTHON="$PWD/.venv/bin/python"

presets=("$@")
((${#presets[@]})) || presets=(release asan-ubsan tsan integer)

run_preset() {
  cmake --preset "$1" && cmake --build --preset "$1" && ctest --preset "$1" --parallel "$(nproc)"
}

summary=()
failures=0
for preset in "${presets[@]}"; do
  echo "== $preset"
  begin=$SECONDS
  if run_preset "$preset"; then
    verdict=passed
  else
    verdict=FAILED
    failures=$((failures + 1))
  fi
  summary+=("$(printf '%-12s %s in %d s' "$preset" "$verdict" $((SECONDS - begin)))")
done

echo "== summary"
printf '%s\n' "${summary[@]}"
exit $((failures > 0))
