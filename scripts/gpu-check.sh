#!/usr/bin/env bash
# Everything that needs a GPU, in one command: device tests of CUDA and HIP, compute-sanitizer, handoff
# latency, streaming pipelines, the same through PyTorch. Writes bench/results/gpu.json.
#   scripts/gpu-check.sh                  builds here, and runs here
#   scripts/gpu-check.sh --bundle FOLDER  builds here, and makes a folder (about 25 MB) that needs no more than a
#                                         driver and python3 where it is run: no packages, no network
#   scripts/gpu-check.sh --run FOLDER     runs such a folder, on the machine with the GPU
#   scripts/gpu-check.sh --dry-run        builds, bundles, and says what would run
#   scripts/gpu-check.sh --fake           builds, bundles, and runs it all over the fake runtime (tests/fake_gpu): nothing
#                                         is measured, but every step is tried
# Other arguments go to bench/gpu_run.py (--out FILE, --seconds N, --only REGEX). Ends with 0 when nothing failed, 77 when
# there is no device. NO_BUILD=1 takes what is built. BUILD names another build folder than build-release, JOBS how many compilers at once.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build-release}
mode=all folder=
case ${1-} in
--bundle | --run) mode=${1#--} folder=${2:?folder} && shift 2 ;;
--dry-run) mode=dry && shift ;;
--fake) mode=fake && shift ;;
esac

bundle() { # FOLDER
  local hip_nvidia=OFF
  if command -v nvcc >/dev/null && [[ -e /usr/include/hip/nvidia_detail/nvidia_hip_runtime_api.h ]]; then hip_nvidia=ON; fi
  if [[ -z ${BUILD-} ]]; then cmake -S "$root" --preset release -DRANKFEED_HIP_NVIDIA=$hip_nvidia >&2; fi
  [[ -n ${NO_BUILD-} ]] || cmake --build "$build" --parallel "${JOBS:-2}" --target handoff_device_test bench_handoff bench_pipeline rankfeed_cli >&2
  rm -rf "$1"
  mkdir -p "$1/bin" "$1/lib" "$1/files"
  cp "$build/tests/gpu_handoff/handoff_device_test" "$build/bench/bench_handoff" "$build/bench/bench_pipeline" "$1/bin/"
  local vendor library
  local backends=$build/bin
  if [[ $mode == fake ]]; then
    backends=$build/fake_gpu
    cp "$backends"/core/librankfeed_fake_gpu.so "$backends"/lib{cudart,cublasLt,amdhip64,hipblaslt}.so* "$1/lib/"
  fi
  for vendor in cuda hip hip_nvidia; do
    library=$backends/librankfeed_handoff_$vendor.so
    if [[ -e $library ]]; then cp -L "$library" "$1/bin/"; else echo "gpu-check: no $vendor backend in this build" >&2; fi
  done
  strip "$1"/bin/*
  # What the programs need beyond the C library and what comes with the vendor's driver.
  ldd "$1"/bin/* 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux.*|libcuda|libamdhip64|libhsa.*)\.so' | xargs -r -I{} cp -L {} "$1/lib/"
  python3 "$root/data/make_tokenizer_json.py" "$root/data/default.model" "$1/files/tokenizer.json"
  "$build/bin/rankfeed" compile "$1/files/tokenizer.json" -o "$1/files/vocab.rfimg" >&2
  python3 - "$root/data/sample/docs.jsonl" >"$1/files/texts.txt" <<'PY'
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    print(" ".join(json.loads(line)["text"].split()))
PY
  mkdir -p "$1/files/tests/gpu_handoff"
  cp -r "$root/tests/gpu_handoff/golden" "$1/files/tests/gpu_handoff/"
  local python=${RANKFEED_PYTHON:-$root/.venv/bin/python}
  [[ -x $python ]] || python=python3
  "$python" -B "$root/tests/gpu_handoff/crossencoder/forward/numpy_models.py" "$1/files/models" ||
    echo "gpu-check: no NumPy for $python: the models of BERT's kind are missing (scripts/python-env.sh)" >&2
  cp "$root"/bench/gpu_{run,pytorch,page_locked}.py "$1/files/"
  git -C "$root" rev-parse HEAD >"$1/files/commit" 2>/dev/null || echo unknown >"$1/files/commit"
  echo "gpu-check: $1, $(du -sm "$1" | cut -f1) MB" >&2
}

case $mode in
bundle) bundle "$folder" ;;
run) exec python3 "$folder/files/gpu_run.py" "$folder" --out "${OUT:-$PWD}/gpu.json" "$@" ;;
dry)
  bundle "$build/gpu-check"
  exec python3 "$root/bench/gpu_run.py" "$build/gpu-check" --dry-run "$@"
  ;;
fake)
  bundle "$build/gpu-check-fake"
  exec python3 "$root/bench/gpu_run.py" "$build/gpu-check-fake" --fake --out "$build/gpu-check-fake/gpu.json" "$@"
  ;;
all)
  bundle "$build/gpu-check"
  exec python3 "$root/bench/gpu_run.py" "$build/gpu-check" "$@"
  ;;
esac
