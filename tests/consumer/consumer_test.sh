#!/usr/bin/env bash
# consumer_test.sh WAY WORK BUILD CMAKE [...]: one way to use rankfeed from another project; see
# CMakeLists.txt. WORK/prefix is the installation, WORK/expected the ids that programs must print.
set -euo pipefail
way=$1 work=$2 build=$3 cmake=$4
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
prefix=$work/prefix
text="What is a panda?"
vendors=(cuda hip)

check() { # PROGRAM NAME: prints the ids of the text
  local got
  got=$("$1" "$work/default.rfimg" "$text")
  [[ $got == "$(<"$work/expected")" ]] || {
    echo "$2 printed '$got', expected '$(<"$work/expected")'"
    exit 1
  }
  echo "$2: $got"
}

check_others() { # FOLDER: the programs of the other components
  [[ -x $1/program_scores ]] || { echo "no program_scores"; exit 1; }
  "$1/program_scores" "$source_dir/data/reranker" "$work/requests.$$.jsonl"
  rm -f "$work/requests.$$.jsonl"
  for vendor in "${vendors[@]}"; do
    if [[ -n $(find "$prefix" -name "librankfeed_handoff_$vendor.so.0.1") ]]; then
      "$1/program_$vendor" # prints how many devices there are; none is a status, not a failure
      is_linked_with "$1/program_$vendor" "librankfeed_handoff_$vendor.so.0.1" yes
    else
      echo "component $vendor was not built here: no nvcc or hipcc"
    fi
  done
}

is_linked_with() { # PROGRAM LIBRARY yes|no
  if readelf -d "$1" | grep "NEEDED.*$2" >/dev/null; then local found=yes; else local found=no; fi
  [[ $found == "$3" ]] || { echo "$1 linked with $2: $found, expected $3"; exit 1; }
}

find_project() { # FOLDER PREFIX CMAKE-ARGUMENTS...
  local folder=$1 where=$2
  shift 2
  rm -rf "$folder"
  "$cmake" -S "$here/find" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$where" "$@" >"$folder.log" ||
    { cat "$folder.log"; exit 1; }
  "$cmake" --build "$folder" >>"$folder.log" || { cat "$folder.log"; exit 1; }
}

pc() { PKG_CONFIG_PATH=$(dirname "$(find "$1" -name rankfeed.pc)") pkg-config "${@:2}"; }
libdir() { dirname "$(find "$1" -name librankfeed_runtime.so.0.1 -o -name librankfeed_runtime.a | head -1)"; }

case $way in
install)
  cli=$5 model=$6 source=$7
  rm -rf "$work"
  mkdir -p "$work"
  "$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
  mv "$work/first" "$prefix" # relocatable: nothing may remember where it was installed
  if grep -rIl -e "$work/first" -e "$build" -e "$source" "$prefix"; then
    echo "the files above hold paths of the build"
    exit 1
  fi
  cp -r "$prefix" "$work/static"
  find "$work/static" -name '*.so*' -delete
  rm -f "$work"/static/lib*/cmake/rankfeed/*-shared*.cmake "$work"/static/lib*/*/cmake/rankfeed/*-shared*.cmake
  "$cli" compile "$model" -o "$work/default.rfimg"
  "$prefix/bin/rankfeed" --version
  printf '%s ' "$(printf '%s\n' "$text" | "$prefix/bin/rankfeed" encode --special --vocab "$work/default.rfimg")" >"$work/expected"
  [[ $(wc -w <"$work/expected") -ge 3 ]]
  ;;
find_static)
  find_project "$work/$way" "$prefix"
  check "$work/$way/program" "$way, C++"
  check "$work/$way/program_c" "$way, C"
  is_linked_with "$work/$way/program" librankfeed no
  is_linked_with "$work/$way/program_scores" librankfeed no
  check_others "$work/$way"
  ;;
find_shared)
  find_project "$work/$way" "$prefix" -DBUILD_SHARED_LIBS=ON
  check "$work/$way/program" "$way, C++"
  check "$work/$way/program_c" "$way, C"
  is_linked_with "$work/$way/program" "librankfeed_builder.so.0.1" yes
  is_linked_with "$work/$way/program_c" "libstdc" no
  is_linked_with "$work/$way/program_scores" "librankfeed_crossencoder.so.0.1" yes
  is_linked_with "$work/$way/program_scores" "libsimdjson" no # it is the library's own business
  check_others "$work/$way"
  ;;
find_static_only) # asks for shared libraries where there are none
  find_project "$work/$way" "$work/static" -DBUILD_SHARED_LIBS=ON
  check "$work/$way/program" "$way, C++"
  ;;
pkgconfig_shared)
  # shellcheck disable=SC2046
  g++ -std=c++20 "$here/program/program.cc" -o "$work/$way" $(pc "$prefix" --cflags --libs rankfeed-builder rankfeed-handoff rankfeed-parallel)
  LD_LIBRARY_PATH=$(libdir "$prefix") check "$work/$way" "$way"
  is_linked_with "$work/$way" librankfeed_runtime.so.0.1 yes
  # shellcheck disable=SC2046
  gcc -std=c11 "$here/program/program_scores.c" -o "$work/${way}_scores" $(pc "$prefix" --cflags --libs rankfeed-crossencoder rankfeed-counters)
  LD_LIBRARY_PATH=$(libdir "$prefix") "$work/${way}_scores" "$source_dir/data/reranker" "$work/requests.$$.jsonl"
  rm -f "$work/requests.$$.jsonl"
  ;;
pkgconfig_static)
  # shellcheck disable=SC2046
  g++ -std=c++20 "$here/program/program.cc" -o "$work/$way" $(pc "$work/static" --static --cflags --libs rankfeed-builder rankfeed-handoff rankfeed-parallel)
  check "$work/$way" "$way"
  is_linked_with "$work/$way" librankfeed no
  # shellcheck disable=SC2046
  gcc -std=c11 "$here/program/program_scores.c" -o "$work/${way}_scores" $(pc "$work/static" --static --cflags --libs rankfeed-crossencoder rankfeed-counters)
  "$work/${way}_scores" "$source_dir/data/reranker" "$work/requests.$$.jsonl"
  rm -f "$work/requests.$$.jsonl"
  ;;
static_whole) # nothing shared, not even the C library; fetches sources from Debian
  status=0
  "$source_dir/scripts/static-libs.sh" "$work/archives" || status=$?
  [[ $status == 0 ]] || exit "$status"
  for language in c cpp; do # the README's programs
    awk -v fence="^\`\`\`$language\$" '$0 ~ fence { inside = 1; next } /^```/ { inside = 0 } inside' "$source_dir/README.md" >"$work/whole.$language"
  done
  whole() { # NAME COMPILER FILE PACKAGES...
    # shellcheck disable=SC2046
    "${@:2:3}" -O1 -o "$work/whole_$1" -static $(PKG_CONFIG_PATH=$work/archives/lib/pkgconfig:$(dirname "$(find "$prefix" -name rankfeed.pc)") pkg-config --static --cflags --libs "${@:5}")
    if readelf -d "$work/whole_$1" | grep NEEDED; then echo "$1 needs the above"; exit 1; fi
  }
  whole c gcc -std=c11 "$work/whole.c" rankfeed
  whole cpp g++ -std=c++20 "$work/whole.cpp" rankfeed-builder
  whole pool g++ -std=c++20 "$source_dir/examples/thread_pool.cc" rankfeed-crossencoder rankfeed-builder
  check "$work/whole_c" "$way, C"
  check "$work/whole_cpp" "$way, C++"
  mkdir -p "$work/whole_model"
  cp "$source_dir"/data/reranker/{config.json,model.safetensors} "$work/whole_model/"
  python3 "$source_dir/data/make_tokenizer_json.py" "$source_dir/data/default.model" "$work/whole_model/tokenizer.json"
  printf 'A car.\nA panda is a bear.\n' | "$work/whole_pool" "$work/whole_model" 2 "$text" >"$work/whole_pool.out"
  [[ $(head -1 "$work/whole_pool.out") == *' A panda is a bear.' ]] || { cat "$work/whole_pool.out"; exit 1; }
  ;;
c_only) # no C++ compiler involved: C11, pedantic, shared library
  # shellcheck disable=SC2046
  gcc -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/program/program.c" -o "$work/$way" $(pc "$prefix" --cflags --libs rankfeed)
  LD_LIBRARY_PATH=$(libdir "$prefix") check "$work/$way" "$way"
  ;;
symbols) # exported symbols, SONAME and needed libraries of every shared library
  bad=0
  for list in "$here"/../../cmake/symbols/*.txt; do
    name=$(basename "$list" .txt)
    library=$(libdir "$prefix")/librankfeed_$name.so.0.1
    if [[ ! -e $library ]]; then
      [[ $name == handoff_* ]] || { echo "no $library"; bad=1; }
      continue
    fi
    nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | sed 's/@@RANKFEED_0\.1$//' | LC_ALL=C sort >"$work/$name.exported"
    # What the headers declare for this library: the visible symbols of its archive, where it has one.
    archive=$(libdir "$prefix")/librankfeed_$name.a
    if [[ -e $archive ]]; then readelf --symbols --wide "$archive" |
      awk '($4 == "FUNC" || $4 == "OBJECT") && $5 != "LOCAL" && $6 == "DEFAULT" && $7 != "UND" && $8 ~ /^rankfeed_/ { print $8 }' | LC_ALL=C sort -u >"$work/$name.archive"
    else cp "$work/$name.exported" "$work/$name.archive"; fi
    grep '^rankfeed_' "$list" >"$work/$name.listed"
    for made in exported archive; do
      if ! diff "$work/$name.listed" "$work/$name.$made" >"$work/$name.diff"; then
        echo "cmake/symbols/$name.txt and the ${made} symbols of librankfeed_$name differ (< listed, > $made):"
        cat "$work/$name.diff"
        bad=1
      fi
    done
    readelf -d "$library" | grep "SONAME.*\[librankfeed_$name.so.0.1\]" >/dev/null || { echo "$library: wrong SONAME"; bad=1; }
    echo "librankfeed_$name: $(wc -l <"$work/$name.listed") symbols"
  done
  is_linked_with "$(libdir "$prefix")/librankfeed_runtime.so.0.1" libstdc no
  exit $bad
  ;;
subdirectory | fetch)
  source=$5 type=$6 flags=$7
  rm -rf "${work:?}/$way"
  "$cmake" -S "$here/subdirectory" -B "$work/$way" -G Ninja -DVIA="$way" -DCMAKE_BUILD_TYPE="$type" \
    -DCMAKE_CXX_FLAGS_RELEASE="$flags" -DRANKFEED_SOURCE="$source" -DFETCHCONTENT_SOURCE_DIR_RANKFEED="$source" \
    -DBUILD_SHARED_LIBS="$([[ $way == fetch ]] && echo ON || echo OFF)" >"$work/$way.log" || { cat "$work/$way.log"; exit 1; }
  "$cmake" --build "$work/$way" --target program_c headers >>"$work/$way.log" || { cat "$work/$way.log"; exit 1; }
  check "$work/$way/program_c" "$way"
  is_linked_with "$work/$way/program_c" librankfeed_runtime.so.0.1 "$([[ $way == fetch ]] && echo yes || echo no)"
  ;;
deb)
  cpack=$5
  command -v dpkg-shlibdeps >/dev/null || { echo "SKIPPED: no dpkg-shlibdeps (dpkg-dev)"; exit 77; }
  rm -rf "$work/deb" "$work/root"
  (cd "$build" && "$cpack" -G DEB -B "$work/deb" >"$work/cpack.log" 2>&1) || { cat "$work/cpack.log"; exit 1; }
  ls -l "$work"/deb/*.deb
  for deb in "$work"/deb/*.deb; do
    dpkg-deb --field "$deb" Package Version Architecture Depends
    dpkg-deb -x "$deb" "$work/root"
  done
  built=0
  for vendor in "${vendors[@]}"; do
    built=$((built + $(find "$prefix" -name "librankfeed_handoff_$vendor.so.0.1" | wc -l)))
  done
  [[ $(ls "$work"/deb/*.deb | wc -l) == $((3 + built)) ]]
  for vendor in "${vendors[@]}"; do # the base package needs no vendor's runtime
    dpkg-deb -c "$work"/deb/librankfeed0.1_*.deb | grep "handoff_$vendor" && { echo "$vendor in librankfeed0.1"; exit 1; }
  done
  dpkg-deb -c "$work"/deb/librankfeed-dev_*.deb | grep './usr/include/rankfeed/crossencoder.h'
  dpkg-deb -c "$work"/deb/librankfeed-dev_*.deb | grep './usr/include/rankfeed/rerank.h'
  dpkg-deb -c "$work"/deb/librankfeed0.1_*.deb | grep 'librankfeed_runtime.so.0.1 '
  dpkg-deb --field "$work"/deb/rankfeed_*.deb Depends | grep libicu
  if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error "$work"/deb/*.deb
  else
    echo "not run: lintian, which is not installed"
  fi
  [[ $(dpkg-parsechangelog -l "$source_dir/packaging/changelog" -S Version) == "$(dpkg-deb --field "$work"/deb/rankfeed_*.deb Version)" ]] ||
    { echo "packaging/changelog has another version"; exit 1; }
  completed=$(bash -c 'source "$1"; COMP_WORDS=(rankfeed encode --pages "") COMP_CWORD=3; _rankfeed; echo "${COMPREPLY[*]}"' - \
    "$work/root/usr/share/bash-completion/completions/rankfeed")
  [[ $completed == "auto hugetlb transparent base file" ]] || { echo "completion says '$completed'"; exit 1; }
  zcat "$work/root/usr/share/man/man1/rankfeed.1.gz" | grep -F 'rankfeed receipt statement' >/dev/null || { echo "no man page"; exit 1; }
  for name in librankfeed0.1 librankfeed-dev rankfeed; do
    for document in copyright changelog.gz rankfeed.spdx.json; do
      [[ -s $work/root/usr/share/doc/$name/$document ]] || { echo "no $document of $name"; exit 1; }
    done
  done
  control=$(dpkg-deb --info "$work"/deb/librankfeed0.1_*.deb shlibs triggers)
  for line in 'librankfeed_runtime 0.1 librankfeed0.1' 'activate-noawait ldconfig'; do
    [[ $control == *"$line"* ]] || { echo "the control files of librankfeed0.1 have no '$line'"; exit 1; }
  done
  [[ -e $work/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/librankfeed_runtime.so.0.1 ]] ||
    { echo "the libraries do not lie in the folder of their architecture"; exit 1; }
  find_project "$work/deb_find" "$work/root/usr" -DBUILD_SHARED_LIBS=ON
  check "$work/deb_find/program" "$way"
  printf '%s\n' "$text" | "$work/root/usr/bin/rankfeed" encode --special --vocab "$work/default.rfimg" | diff - <(sed "s/ $//" "$work/expected"; echo)
  ;;
*)
  echo "unknown way $way"
  exit 2
  ;;
esac
