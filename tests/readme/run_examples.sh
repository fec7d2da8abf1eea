#!/bin/sh
# run_examples.sh RANKFEED CPP_EXAMPLE C_EXAMPLE MODEL WORK_DIR
set -e
image="$5/default.rfimg"
"$1" compile "$4" -o "$image"
text="What is a panda?"
expected=$(printf '%s\n' "$text" | "$1" encode --special --vocab "$image")
cpp=$("$2" "$image" "$text")
c=$("$3" "$image" "$text")
test -n "$expected"
test "$cpp" = "$expected " || { echo "C++ example printed: $cpp, expected $expected"; exit 1; }
test "$c" = "$expected " || { echo "C example printed: $c, expected $expected"; exit 1; }
