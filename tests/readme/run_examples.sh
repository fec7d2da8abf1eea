#!/bin/sh
# run_examples.sh RANKFEED CPP_EXAMPLE C_EXAMPLE MODEL WORK_DIR
set -e
text="What is a panda?"
# check IDS CPP_VOCABULARY IMAGE
check() {
  cpp=$("$cpp_example" "$2" "$text")
  c=$("$c_example" "$3" "$text")
  test -n "$1"
  test "$cpp" = "$1 " || { echo "C++ example printed: $cpp, expected $1"; exit 1; }
  test "$c" = "$1 " || { echo "C example printed: $c, expected $1"; exit 1; }
}
cpp_example=$2 c_example=$3
image="$5/default.rfimg"
"$1" compile "$4" -o "$image"
check "$(printf '%s\n' "$text" | "$1" encode --special --vocab "$image")" "$image" "$image"
# The same of a BERT vocabulary.
mkdir -p "$5/bert"
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwhat\nis\na\npan\n##da\n?\n' >"$5/bert/vocab.txt"
echo '{"do_lower_case": true}' >"$5/bert/tokenizer_config.json"
"$1" compile "$5/bert/vocab.txt" -o "$5/bert.rfimg"
check "2 5 6 7 8 9 10 3" "$5/bert/vocab.txt" "$5/bert.rfimg"
# And of a RoBERTa vocabulary.
bpe=$(dirname "$0")/bpe
"$1" compile "$bpe" -o "$5/bpe.rfimg"
check "0 262 264 265 270 34 2" "$bpe/vocab.json" "$5/bpe.rfimg"
