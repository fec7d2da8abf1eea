#!/bin/sh
# run_python_example.sh PYTHON EXAMPLE RANKFEED MODEL: prints the ids that the command line prints.
if [ ! -x "$1" ]; then
  echo "SKIPPED: no Python interpreter at $1"
  exit 77
fi
text="What is a panda?"
expected=$(printf '%s\n' "$text" | "$3" encode --special --vocab "$4")
got=$("$1" "$2" "$4" "$text")
test "$got" = "$expected" || { echo "Python example printed: $got, expected $expected"; exit 1; }
