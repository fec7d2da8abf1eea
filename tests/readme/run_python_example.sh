#!/bin/sh
# run_python_example.sh PYTHON EXAMPLE RANKFEED MODEL WORK_DIR: prints the ids that the command line prints, and those of a
# BERT vocabulary and of a RoBERTa one.
if [ ! -x "$1" ]; then
  echo "SKIPPED: no Python interpreter at $1"
  exit 77
fi
text="What is a panda?"
expected=$(printf '%s\n' "$text" | "$3" encode --special --vocab "$4")
got=$("$1" "$2" "$4" "$text")
test "$got" = "$expected" || { echo "Python example printed: $got, expected $expected"; exit 1; }
mkdir -p "$5/bert_python"
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwhat\nis\na\npan\n##da\n?\n' >"$5/bert_python/vocab.txt"
got=$("$1" "$2" "$5/bert_python/vocab.txt" "$text")
test "$got" = "2 5 6 7 8 9 10 3" || { echo "Python example printed: $got for a BERT vocabulary"; exit 1; }
got=$("$1" "$2" "$(dirname "$0")/bpe/vocab.json" "$text")
test "$got" = "0 262 264 265 270 34 2" || { echo "Python example printed: $got for a RoBERTa vocabulary"; exit 1; }
