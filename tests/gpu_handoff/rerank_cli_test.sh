#!/usr/bin/env bash
# rerank_cli_test.sh RANKFEED SOURCE_DIR: `rankfeed rerank` ranks the sample, says the same on several
# threads, in small batches and from a corpus, and names what is wrong.
set -uo pipefail
rankfeed=$1 source=$2
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
rerank() { "$rankfeed" rerank --vocab "$source/data/default.model" --model "$source/data/reranker" "$@"; }
sample=(--query "$(<"$source/data/sample/query.txt")" --docs "$source/data/sample/docs.jsonl")

ranked=$(rerank "${sample[@]}" --top 10 --json) || fail "rerank"
[[ $ranked == *'"results":[{"index":0,"id":"panda-en"'* ]] || fail "the answer is not first: ${ranked:0:300}"
[[ $ranked == *'"tokenize_and_pack":'* ]] || fail "no times"
results() { sed 's/,"rows":.*//' <<<"$1"; }
for extra in "--threads 3" "--max-rows 3 --slots 2" "--max-tokens 512 --slots 5"; do
  # shellcheck disable=SC2086
  other=$(rerank "${sample[@]}" --top 10 --json $extra) || fail "rerank $extra"
  ids() { grep -o '"id":"[^"]*"' <<<"$1" | tr '\n' ' '; }
  [[ $(ids "$(results "$ranked")") == "$(ids "$(results "$other")")" ]] || fail "another order with $extra"
done
table=$(rerank "${sample[@]}" --top 3)
[[ $(wc -l <<<"$table") -eq 7 ]] || fail "table"
# README.md shows its first lines; the scores' last digits are the CPU's.
shown() { sed 's/\.[0-9]\{5\} / /' <<<"$1" | head -3; }
documented=$(sed -n '/^rank *score/,/^```/p' "$source/README.md" | head -3)
[[ $(shown "$table") == "$(shown "$documented")" ]] || fail "README.md shows another table: $table"

# Documents of a store, and of two in a manifest, rank as their texts do, to the last digit; one that is in neither needs its text.
docs=$source/data/sample/docs.jsonl
rm -rf stores && mkdir stores
store() { "$rankfeed" corpus build --vocab "$source/data/default.model" --jsonl "$@" >/dev/null || fail "corpus build"; }
store --docs "$docs" -o stores/all.rfc
head -n 20 "$docs" | store --docs - -o stores/0.rfc
sed -n '21,$p' "$docs" | store --docs - -o stores/1.rfc
"$rankfeed" corpus manifest -o stores/docs.json stores/0.rfc stores/1.rfc >/dev/null || fail "corpus manifest"
sed 's/, *"text": *".*"}$/}/' "$docs" >ids.jsonl
[[ $(wc -c <ids.jsonl) -lt $(($(wc -c <"$docs") / 4)) ]] || fail "ids.jsonl has texts: $(head -n 1 ids.jsonl)"
for corpus in all.rfc docs.json "docs.json --map-file"; do
  # shellcheck disable=SC2086
  other=$(rerank --query "$(<"$source/data/sample/query.txt")" --docs ids.jsonl --top 10 --json --corpus stores/$corpus) || fail "rerank --corpus $corpus"
  [[ $(results "$ranked") == "$(results "$other")" ]] || fail "another ranking from $corpus: ${other:0:300}"
done
{ cat ids.jsonl; echo '{"id": "new", "text": "A panda."}'; echo '{"id": "absent"}'; } >mixed.jsonl
sed '$d' mixed.jsonl >known.jsonl
count=$(wc -l <known.jsonl)
[[ $(rerank --query q --docs known.jsonl --corpus stores/docs.json --json | grep -o '"index"' | wc -l) == "$count" ]] || fail "stored and new documents together"

# What the sample model counts: shared pieces, pairs of neighbouring ones, and hardly anything in a few words.
first() {
  local wanted=$1 query=$2 best
  shift 2
  printf '%s\n' "$@" >few.txt
  best=$(rerank --query "$query" --docs few.txt --json | sed 's/.*"results":\[{"index":\([0-9]*\).*/\1/')
  [[ $best == "$wanted" ]] || fail "'$query': document $best is first"
}
first 1 "What is a panda?" "A car." "A bear that eats bamboo."
first 2 "What is a panda?" "A car." "A bear that eats bamboo." "A panda is a bear."
# The same pieces in another order.
first 1 "Who lives in the white house?" "On the white hill the house is green." "On the hill the white house is green."

refused() {
  local words=$1 out
  shift
  if out=$("$@" 2>&1 >/dev/null); then fail "succeeded: $*"; fi
  [[ $out == *"$words"* ]] || fail "'$out' does not say '$words'"
}
refused "No such file" "$rankfeed" rerank --vocab "$source/data/default.model" --model "$source/absent" "${sample[@]}"
refused "do not belong together" "$rankfeed" rerank --vocab "$source/data/default.model" \
  --model "$source/tests/gpu_handoff/golden/xlmr" "${sample[@]}"
echo -n >empty.txt
refused "no documents" rerank --query q --docs empty.txt
refused "document absent has no text and is not in stores/docs.json" rerank --query q --docs mixed.jsonl --corpus stores/docs.json
refused 'no string field "text"' rerank --query q --docs ids.jsonl
refused "another vocabulary" "$rankfeed" rerank --vocab "$source/data/default.model" --parity sentencepiece-0.2.1 --model "$source/data/reranker" \
  --query q --docs ids.jsonl --corpus stores/docs.json
for device in cuda hip; do
  if ! out=$(rerank "${sample[@]}" --device $device 2>&1 >/dev/null); then
    [[ $out == *"--device host works everywhere"* ]] || fail "$device: $out"
  fi
done
exit $((failures > 0))
