#!/usr/bin/env bash
# Makes archives of Highway and simdjson, which Debian has as shared libraries only, for programs that are linked with
# nothing but themselves (docs/install.md): from Debian's source packages, in the versions whose headers it installs.
#   scripts/static-libs.sh FOLDER    FOLDER/lib/libhwy.a, libsimdjson.a and FOLDER/lib/pkgconfig; status 77 without a network
set -euo pipefail
folder=$(mkdir -p "${1:?a folder to make them in}" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
work=$folder/build
mkdir -p "$work"
source scripts/debian.sh # debian()
cd "$work"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:?}")
debian "$(dpkg --print-architecture)" "$suite" source --download-only highway simdjson ||
  { echo "SKIPPED: the sources of Highway and simdjson could not be had from Debian ($work/apt)"; exit 77; }
for name in highway simdjson; do
  rm -rf "${name:?}"-*/ "$name"
  dpkg-source --no-check -x "$name"_*.dsc >"$name.log" 2>&1 || { cat "$name.log"; exit 1; }
  cmake -S "$name"-*/ -B "$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_PREFIX="$folder" \
    -DCMAKE_INSTALL_LIBDIR=lib -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF >>"$name.log" 2>&1 &&
    cmake --build "$name" >>"$name.log" 2>&1 && cmake --install "$name" >>"$name.log" 2>&1 || { tail -20 "$name.log"; exit 1; }
done
ls "$folder"/lib/*.a
