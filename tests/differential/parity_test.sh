#!/usr/bin/env bash
# parity_test.sh RANKFEED SOURCE_DIR PYTHON WORK_DIR [_long]: the command `rankfeed parity`. Against the
# real wheels nothing differs; against one that is made to err, the report says which characters matter;
# and each thing that can be missing has its own message.
set -uo pipefail
rankfeed=$1 source=$2 python=$3 work=$4 long=${5-}
shared=${RANKFEED_SHARED_DATA:-$source/../shared/data}
if [[ ! -x $python ]]; then
  echo "SKIPPED: no Python interpreter at $python (scripts/python-env.sh makes it)"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# refused NAME PATTERN COMMAND...
refused() {
  local name=$1 pattern=$2
  shift 2
  if "$@" >out.txt 2>err.txt </dev/null; then fail "$name: succeeded"; fi
  grep -qiE "$pattern" err.txt || fail "$name: stderr is '$(cat err.txt)', expected /$pattern/"
}

model=$source/data/default.model
"$rankfeed" compile "$model" -o v.rfimg >/dev/null || fail "compile"
"$python" "$source/data/make_tokenizer_json.py" "$model" tokenizer.json >/dev/null 2>&1 ||
  cp "$shared/xlmr.tokenizer.json" tokenizer.json 2>/dev/null
printf 'What is a panda?\n\n  two  spaces \t\r\nbad \xff\xc3 bytes\n\xef\xbd\xb6\xef\xbe\x9e e\xcc\x81\n</s> <s>' >texts.txt
printf '{"text": "The giant panda"}\n{"id": 7, "text": "o\\u0000o"}\n' >texts.jsonl

"$rankfeed" parity --vocab "$model" --against sentencepiece --python "$python" texts.txt texts.jsonl >out.txt ||
  fail "sentencepiece: $(cat out.txt)"
grep -q '^8 documents, .* 0 mismatches against sentencepiece' out.txt || fail "totals: $(cat out.txt)"
"$rankfeed" parity --vocab v.rfimg --reference "$model" --against sentencepiece --python "$python" --json \
  <texts.txt | grep -q '"documents":6,.*"mismatches":0' || fail "image, JSON, standard input"
if [[ -e tokenizer.json ]]; then
  "$rankfeed" parity --vocab tokenizer.json --against huggingface --python "$python" texts.txt texts.jsonl >out.txt ||
    fail "huggingface: $(cat out.txt)"
  "$rankfeed" parity --vocab tokenizer.json --special --against huggingface --python "$python" texts.txt >out.txt ||
    fail "huggingface with special tokens: $(cat out.txt)"
  mkdir folder && cp tokenizer.json folder && "$rankfeed" compile folder -o of_folder.rfimg >/dev/null || fail "compile a folder"
  "$rankfeed" parity --vocab folder --against huggingface --python "$python" texts.txt >out.txt || fail "a folder: $(cat out.txt)"
  "$rankfeed" parity --vocab of_folder.rfimg --reference folder --against huggingface --python "$python" texts.txt >out.txt ||
    fail "a folder that an image was compiled from: $(cat out.txt)"
fi
if [[ -e $shared/xlmr.model && -d $shared/xquad ]]; then
  files=("$shared"/xquad/*.jsonl)
  [[ $long ]] || files=("${files[0]}" "${files[-1]}")
  for pair in "xlmr.model sentencepiece" "xlmr.tokenizer.json huggingface"; do
    "$rankfeed" parity --vocab "$shared/${pair% *}" --against "${pair#* }" --python "$python" "${files[@]}" || fail "$pair"
  done
else
  echo "the shared vocabularies and texts are absent: only the default vocabulary was compared"
fi

# A reference that errs on one pair of characters.
cat >erring.py <<EOF
import sys, runpy
import sentencepiece
real = sentencepiece.SentencePieceProcessor.encode
def encode(self, texts):
    return [ids + [1] if b"zq" in text else ids for text, ids in zip(texts, real(self, texts))]
sentencepiece.SentencePieceProcessor.encode = encode
script, sys.argv = sys.argv[2], [""] + sys.argv[3:]
exec(script)
EOF
printf '#!/bin/sh\nexec %s %s/erring.py "$@"\n' "$python" "$PWD" >erring && chmod +x erring
printf 'fine\nThe quick brown fox said zq to nobody in particular, and went on.\nfine too\n' >some.txt
refused "a mismatch" "1 of 3 documents differ" "$rankfeed" parity --vocab "$model" --against sentencepiece \
  --python ./erring some.txt
grep -q '^some.txt:2: 2 characters of ' out.txt || fail "place: $(cat out.txt)"
grep -q '^  fragment  "zq"$' out.txt || fail "fragment: $(cat out.txt)"
grep -q ', 1 mismatches against sentencepiece' out.txt || fail "mismatch totals: $(cat out.txt)"

refused "no interpreter" "cannot run /nowhere/python.*--python" "$rankfeed" parity --vocab "$model" \
  --against sentencepiece --python /nowhere/python texts.txt
printf '#!/bin/sh\nexec %s -S -I "$@"\n' "$python" >bare && chmod +x bare
refused "no wheel" "no module sentencepiece" "$rankfeed" parity --vocab "$model" --against sentencepiece \
  --python ./bare texts.txt
refused "other parity" "SentencePiece parity; compare it with --against sentencepiece" "$rankfeed" parity \
  --vocab "$model" --against huggingface --python "$python" texts.txt
refused "image alone" "name the file it was compiled from" "$rankfeed" parity --vocab v.rfimg \
  --against sentencepiece --python "$python" texts.txt
refused "no text file" "nothing.txt" "$rankfeed" parity --vocab "$model" --against sentencepiece \
  --python "$python" nothing.txt
echo "$failures failures"
exit $((failures > 0))
