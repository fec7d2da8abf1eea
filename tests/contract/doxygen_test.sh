#!/bin/sh
# doxygen_test.sh DOXYGEN SOURCE OUTPUT: fails on any warning.
if [ ! -x "$1" ]; then
  echo "SKIPPED: no doxygen"
  exit 77
fi
set -e
mkdir -p "$3"
cd "$2"
{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = $3"; } | "$1" - >"$3/doxygen.log" 2>"$3/warnings.txt" || true
if [ -s "$3/warnings.txt" ]; then
  echo "doxygen warns:"
  head -40 "$3/warnings.txt"
  exit 1
fi
pages=$(ls "$3"/html/*_8h.html | wc -l)
[ "$pages" -ge 8 ] || { echo "only $pages headers documented"; exit 1; }
grep -q rankfeed_rerank_begin "$3"/html/rerank_8h.html
echo "$pages headers"
