#!/usr/bin/env bash
# Installs what the tests need, then builds and runs them: optimized (release); with clang's AddressSanitizer,
# UndefinedBehaviorSanitizer and checks of integer arithmetic (checked); and the programs that have threads with
# ThreadSanitizer (tsan). Ends with a table of the phases in wall and CPU time and a non-zero status when a phase failed.
#   scripts/test.sh               all three
#   scripts/test.sh release ...   only the named presets of CMakePresets.json
# The tests of gpu_handoff, serve, python and packaging run in full only where these folders, or what they include, differ
# from the commit in RANKFEED_TESTED_AT, else from the first parent of HEAD; otherwise their smoke tests do.
# RANKFEED_TEST_FULL=1 runs all in full. What takes long or needs more packages is `ctest --preset long` (docs/tests.md).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# Sets cpu to the CPU seconds of all children so far, user and system.
read_cpu() {
  times >"$notes/times" # in a pipe it would be the times of a subshell
  cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += t[1] * 60 + t[2] } print int(s + 0.5) }' "$notes/times")
}

summary=()
failures=0
spent=0 # CPU seconds of building and testing
# phase NAME COMMAND...: runs the command and notes its verdict and times. Installing is not counted as building.
phase() {
  local name=$1 begin=$SECONDS before cpu verdict=passed
  shift
  read_cpu
  before=$cpu
  echo "== $name"
  "$@" || { verdict=FAILED; failures=$((failures + 1)); }
  read_cpu
  cpu=$((cpu - before))
  [[ $name == install ]] || spent=$((spent + cpu))
  summary+=("$(printf '%-18s %-7s %5d s wall %6d s CPU' "$name" "$verdict" $((SECONDS - begin)) "$cpu")")
  [[ $verdict == passed ]]
}
notes=$(mktemp -d) || exit 1
trap 'rm -rf "$notes"' EXIT

install() { scripts/install-deps.sh test && scripts/python-env.sh; }

# Prints the folders whose tests run in full, and on standard error why.
folders_in_full() {
  local all="gpu_handoff serve python packaging" base changed folder full=()
  if [[ -n ${RANKFEED_TEST_FULL-} ]]; then
    echo "gpu_handoff, serve, python and packaging in full: RANKFEED_TEST_FULL is set" >&2
    echo "${all// /;}"
    return
  fi
  base=${RANKFEED_TESTED_AT:-HEAD^1}
  if ! changed=$(git diff --name-only "$base" -- 2>/dev/null); then
    echo "gpu_handoff, serve, python and packaging: smoke tests, since git knows no commit $base" >&2
    return
  fi
  for folder in $all; do
    local paths
    case $folder in
      gpu_handoff) paths='^(gpu_handoff|tests/gpu_handoff|tests/fake_gpu|include/rankfeed/(handoff|crossencoder|batch))' ;;
      serve) paths='^(src/(serve|cli|folder|capi/folders)|tests/serve|gpu_handoff/crossencoder|include/rankfeed)' ;;
      python) paths='^(python|src/(folder|capi/folders)|bindings|tests/(python|folder)|(tests/)?examples|include/rankfeed|pyproject.toml)' ;;
      packaging) paths='^(packaging|cmake|tests/(consumer|packages|wheels|ffi)|(tests/)?examples|CMakeLists.txt|pyproject.toml|scripts/wheels.sh)' ;;
    esac
    if grep -qE "$paths" <<<"$changed"; then
      full+=("$folder")
      echo "$folder in full: $(grep -E "$paths" <<<"$changed" | head -1) differs from $base" >&2
    else
      echo "$folder: smoke tests, since nothing of it differs from $base" >&2
    fi
  done
  (IFS=';'; echo "${full[*]-}")
}

phase install install || { printf '%s\n' "${summary[@]}"; exit 1; }

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=true # another clone finds the same objects
  export CCACHE_SLOPPINESS=pch_defines,time_macros   # and tests with precompiled headers are cached at all
fi
export RANKFEED_PYTHON="$PWD/.venv/bin/python"

presets=("$@")
((${#presets[@]})) || presets=(release checked tsan)
full=$(folders_in_full 2>"$notes/folders")

for preset in "${presets[@]}"; do
  phase "$preset configure" cmake --preset "$preset" "-DRANKFEED_TEST_FOLDERS=$full" &&
    phase "$preset build" cmake --build --preset "$preset" &&
    phase "$preset test" ctest --preset "$preset" --parallel "$(nproc)" --output-log "$notes/tests"
  # Said, and no failure: another run beside this one makes all tests longer.
  [[ -f $notes/tests ]] && awk -v preset="$preset" '/^ *[0-9]+\/[0-9]+ +Test +#/ && $NF == "sec" && $(NF - 1) > 20 {
    printf "over 20 s, so for parts or for the long suite (docs/tests.md): %s, %s %d s\n", preset, $4, $(NF - 1) }' "$notes/tests" >>"$notes/long"
  rm -f "$notes/tests"
done

echo "== summary"
cat "$notes/folders"
printf '%s\n' "${summary[@]}"
cat "$notes/long" 2>/dev/null
printf 'building and testing took %d CPU minutes\n' $(((spent + 59) / 60))
if [[ -n ${RANKFEED_CPU_MINUTES-} ]] && ((spent > RANKFEED_CPU_MINUTES * 60)); then
  echo "that is more than the $RANKFEED_CPU_MINUTES CPU minutes allowed"
  failures=$((failures + 1))
fi
exit $((failures > 0))
