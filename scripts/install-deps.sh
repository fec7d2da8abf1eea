#!/usr/bin/env bash
# Installs the Debian packages that rankfeed needs (Debian 12 names).
#   scripts/install-deps.sh build   library, builder and command line
#   scripts/install-deps.sh test    the same, and what scripts/test.sh and the benchmarks need
#   scripts/install-deps.sh long    the same, and what only the long suite needs (ctest --preset long)
# When every package is already there it returns at once: no root, no network.
set -euo pipefail

usage() {
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

build_packages=(
  g++ cmake ninja-build pkg-config ccache
  libicu-dev       # Unicode properties and normalization forms, at image build time
  libhwy-dev       # SIMD kernels
  libmimalloc-dev  # allocator of the builder, the command line and the benchmarks
  libprotozero-dev # protobuf wire format of .model files
  libsimdjson-dev  # tokenizer.json
  libxxhash-dev    # image checksum and config hash
  libcli11-dev libfmt-dev nlohmann-json3-dev libzip-dev libssl-dev # command line
  libboost1.81-dev zlib1g-dev # rankfeed serve: Asio and Beast (headers only), gzip
  libtbb-dev       # default executor
  python3-dev python3-venv # the Python package
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev
  libsentencepiece-dev sentencepiece # the oracle, linked and as a command
  clang libclang-rt-14-dev           # second compiler, libFuzzer
  binutils                           # nm: symbol checks
  abigail-tools                      # abidiff: the C ABI
  hipcc libamdhip64-dev              # HIP backend: compiled, needs no device
  linux-perf                         # perf stat: what the counters are compared with
  valgrind                           # instruction counts: the gate and its planted regression
  wrk                                # load on rankfeed serve
)
long_packages=(
  libabsl-dev libprotobuf-dev protobuf-compiler # what the newest SentencePiece is built with, for the benchmarks
  dpkg-dev lintian                   # dpkg-shlibdeps, for the Debian packages; what Debian says of them
  doxygen                            # API documentation
  g++-aarch64-linux-gnu qemu-user    # the runtime on 64-bit Arm
  chromium                           # draws the audit report
  debootstrap                        # a bare Debian 12, in which a test pastes the README
  buildah crun                       # the image of packaging/Containerfile
  wine64                             # the libraries of the wheel for Windows
  nginx-light prometheus docker-compose openssl # read the files of packaging/deploy
  rustc cargo golang-go              # the C API from Rust and Go, the crates of bindings/rust
)

case "${1-}" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  long) wanted=("${build_packages[@]}" "${test_packages[@]}" "${long_packages[@]}") ;;
  *) usage ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: this is not a Debian system; install the equivalents of: ${wanted[*]}" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed* ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

if ((EUID != 0)); then
  echo "install-deps: not root, and these packages are missing: ${missing[*]}" >&2
  echo "install-deps: run 'apt-get install ${missing[*]}' as root, then try again" >&2
  exit 1
fi

echo "install-deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Another apt may be at work, as a fresh machine's own upgrade is: wait for it. Only a lock is waited
# for; without a network, say, waiting helps nobody.
waited=0
until said=$(LC_ALL=C apt-get update -q 2>&1); do
  if [[ $said != *"Could not get lock"* ]] || ((waited >= 600)); then
    printf '%s\n' "$said" >&2
    exit 1
  fi
  echo "install-deps: another program holds apt's lock; waiting"
  sleep 10
  waited=$((waited + 10))
done
apt-get -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends "${missing[@]}"
