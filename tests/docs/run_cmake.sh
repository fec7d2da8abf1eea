#!/usr/bin/env bash
# run_cmake.sh SOURCE WORK CMAKE C_COMPILER_LAUNCHER CXX_COMPILER_LAUNCHER [all]: configures and builds a project
# out of each CMake block of docs/install.md, as written there: the first finds the installation that
# consumer_test.sh made in WORK/prefix, the second takes this source tree. Their programs are the README's
# examples and must print the ids that the installed command line prints. Without "all" the second, which compiles the
# library once more, is configured only.
set -euo pipefail
source=$1 work=$2 cmake=$3
here=$work/docs
rm -rf "$here"
mkdir -p "$here"
awk -v out="$here/block" '/^```cmake$/ { ++n; inside = 1; next } /^```/ { inside = 0 } inside { print > (out n ".cmake") }' \
  "$source/docs/install.md"
[[ $(ls "$here"/block*.cmake | wc -l) == 2 ]] || { echo "docs/install.md has other than two CMake blocks"; exit 1; }
readme_example() { # LANGUAGE: the README's example
  awk -v fence="^\`\`\`$1\$" '$0 ~ fence { inside = 1; next } /^```/ { inside = 0 } inside' "$source/README.md"
}
rankfeed=$work/prefix/bin/rankfeed
text="What is a panda?"
expected=$(printf '%s\n' "$text" | "$rankfeed" encode --special --vocab "$work/default.rfimg")
for n in 1 2; do
  project=$here/project$n
  mkdir -p "$project/third_party"
  ln -s "$source" "$project/third_party/rankfeed"
  # The block links a target called program: the README's C++ example, or where the block names the
  # runtime alone, its C example.
  if grep -q rankfeed::builder "$here/block$n.cmake"; then
    file=main.cc
    readme_example cpp >"$project/$file"
  else
    file=main.c
    readme_example c >"$project/$file"
  fi
  {
    echo 'cmake_minimum_required(VERSION 3.22)'
    echo 'project(docs_block LANGUAGES C CXX)'
    echo 'include(FetchContent)'
    echo 'set(CMAKE_CXX_STANDARD 20)'
    echo "add_executable(program $file)"
    cat "$here/block$n.cmake"
  } >"$project/CMakeLists.txt"
  "$cmake" -S "$project" -B "$project/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CXX_FLAGS_RELEASE="${RANKFEED_CXX_FLAGS:--O2 -DNDEBUG}" -DCMAKE_C_COMPILER_LAUNCHER="${4-}" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="${5-}" >"$project.log" 2>&1 || { cat "$project.log"; exit 1; }
  if [[ $n == 2 && ${6-} != all ]]; then
    "$cmake" --build "$project/build" --target program -- -n >>"$project.log" 2>&1 || { tail -40 "$project.log"; exit 1; }
    echo "block 2 of docs/install.md: configured"
    continue
  fi
  "$cmake" --build "$project/build" --target program >>"$project.log" 2>&1 || { tail -40 "$project.log"; exit 1; }
  got=$("$project/build/program" "$work/default.rfimg" "$text")
  [[ $got == "$expected " ]] || { echo "block $n printed '$got', expected '$expected '"; exit 1; }
  echo "block $n of docs/install.md: $got"
done
