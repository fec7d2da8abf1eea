#!/usr/bin/env bash
# cli_test.sh RANKFEED SOURCE_DIR WORK_DIR: the command line's contract on the default vocabulary, and
# its errors: each has its own message on stderr, a non-zero exit, and leaves no file.
set -uo pipefail
rankfeed=$1 source=$2 work=$3
shared=${RANKFEED_SHARED_DATA:-$source/../shared/data}
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
failures=0 cases=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# equal NAME EXPECTED ACTUAL
equal() {
  cases=$((cases + 1))
  [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}
# refused NAME PATTERN COMMAND...: fails, prints nothing on stdout, and stderr matches PATTERN
refused() {
  local name=$1 pattern=$2
  shift 2
  cases=$((cases + 1))
  if "$@" >out.txt 2>err.txt </dev/null; then fail "$name: succeeded"; fi
  [[ ! -s out.txt ]] || fail "$name: printed $(head -c 200 out.txt)"
  grep -qiE "$pattern" err.txt || fail "$name: stderr is '$(cat err.txt)', expected /$pattern/"
}
# no_file NAME FILE
no_file() {
  [[ ! -e $2 ]] || fail "$1: left $2"
  compgen -G "$2.*" >/dev/null && fail "$1: left $(compgen -G "$2.*")"
}

model=$source/data/default.model
"$rankfeed" compile "$model" -o v.rfimg >/dev/null || fail "compile"

# An image of another version is refused with the command that makes it anew.
cp v.rfimg old.rfimg && printf '\x01' | dd of=old.rfimg bs=1 seek=8 conv=notrunc status=none
refused "old image" "another version of rankfeed: .rankfeed compile. makes an image anew" "$rankfeed" info --vocab old.rfimg

# encode: one line of ids per input line, an empty line for no ids; the same from image and model
printf 'What is a panda?\n\n  \nbear' >texts.txt
ids=$("$rankfeed" encode --vocab v.rfimg texts.txt; echo end)
equal "lines" 5 "$(wc -l <<<"$ids")"
equal "image and model" "$ids" "$("$rankfeed" encode --vocab "$model" texts.txt; echo end)"
equal "standard input" "$ids" "$("$rankfeed" encode --vocab v.rfimg <texts.txt; echo end)"
equal "empty lines" "" "$(sed -n 2,3p <<<"$ids" | tr -d '\n')"
printf '{"text": "What is a panda?"}\n\n{"id": 7, "text": ""}\n{"text": "  "}\n{"text": "bear"}\n' >texts.jsonl
equal "JSONL" "$ids" "$("$rankfeed" encode --vocab v.rfimg texts.jsonl; echo end)"
special=$("$rankfeed" encode --vocab v.rfimg --special texts.txt | head -n 1)
equal "special" "0 $(head -n 1 <<<"$ids") 2" "$special"
equal "decode" "What is a panda?" "$(head -n 1 <<<"$ids" | "$rankfeed" decode --vocab v.rfimg)"
equal "pieces" "▁What▁is▁a▁panda?" "$("$rankfeed" encode --vocab v.rfimg --pieces texts.txt | head -n 1 | tr -d ' ')"
"$rankfeed" encode --vocab v.rfimg --json texts.txt | head -n 1 | grep -q '"offsets":\[\[0,.*,16\]\]' ||
  fail "offsets in JSON"
printf '\360\237\230\200 \303\251' >units.txt
for unit in code-points:3 utf16:4 bytes:7; do
  "$rankfeed" encode --vocab v.rfimg --json --offsets "${unit%:*}" units.txt | grep -q "\"offsets\":.*,${unit#*:}\]\]" ||
    fail "offsets in $unit"
done
"$rankfeed" encode --vocab v.rfimg --json --offsets words units.txt 2>/dev/null && fail "a unit that there is none of"
"$rankfeed" info --vocab v.rfimg --json | grep -q '"parity": "sentencepiece"' || fail "info"

# roads: why texts take the general path, of a vocabulary and of texts; instruction sets
equal "on the fast road" "fast road: yes" "$("$rankfeed" info --vocab v.rfimg | tail -n 1)"
"$rankfeed" info --vocab v.rfimg --json | grep -A1 '"fast_road": true' | grep -q '"off_fast_road": null' ||
  fail "fast road in JSON"
echo '{"pre_tokenizer": {"type": "Split", "pattern": {"String": "ab"}, "behavior": "Isolated", "invert": false}, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}' >split.json
equal "off the fast road" "fast road: no: pre-tokenizer, Split" "$("$rankfeed" info --vocab split.json | tail -n 1)"
"$rankfeed" info --vocab split.json --json | grep -A1 '"fast_road": false' |
  grep -q '"off_fast_road": "pre-tokenizer, Split"' || fail "off the fast road in JSON"
# A stretch over the limit, of a vocabulary whose texts cannot be cut.
"$rankfeed" info --vocab split.json | grep -qx "long texts are cut: no: pre-tokenizer, Split" || fail "what cannot be cut"
"$rankfeed" info --vocab v.rfimg | grep -qx "long texts are cut: yes" || fail "what can be cut"
head -c 300000 /dev/zero | tr '\0' a >over.txt
refused "stretch over the limit, encode" "text 1 has 300000 bytes, with a stretch .* --max-stretch-bytes, 262144, .*--max-stretch-bytes [0-9]+ is enough" "$rankfeed" encode --vocab split.json over.txt
equal "stretch within a greater limit" 300000 "$("$rankfeed" encode --vocab split.json --max-stretch-bytes 300000 over.txt | wc -w)"
{ echo ab; cat over.txt; echo; echo ba; } >documents.txt
"$rankfeed" batch --vocab split.json --template single --layout packed --max-length 8 --query a --docs documents.txt >out.txt 2>err.txt &&
  fail "stretch over the limit, batch: succeeded"
grep -q "document 1 .*--max-stretch-bytes" err.txt && ! grep -q max_stretch_bytes err.txt && grep -q "1 of 3 documents failed" err.txt ||
  fail "stretch over the limit, batch: $(cat err.txt)"
"$rankfeed" batch --vocab split.json --template single --layout packed --max-length 8 --query a --docs documents.txt --max-stretch-bytes 300000 >/dev/null ||
  fail "batch with a greater limit"
# Spaces become three bytes each: the value that an error names is enough for them too, in every command.
echo '{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}, "model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"<unk>": 0, "\u2581": 1, "a": 2}, "merges": []}}' >spaces.json
{ head -c 300000 /dev/zero | tr '\0' ' '; echo a; } >spaces.txt
for command in "encode --vocab spaces.json spaces.txt" "corpus build --vocab spaces.json --docs spaces.txt -o spaces.rfc" \
  "corpus append --vocab spaces.json --docs spaces.txt spaces.rfc" "batch --vocab spaces.json --template single --layout packed --max-length 8 --query a --docs spaces.txt"; do
  "$rankfeed" $command >/dev/null 2>err.txt && fail "stretch over the limit, $command: succeeded"
  enough=$(sed -n 's/.*--max-stretch-bytes \([0-9]*\) is enough.*/\1/p' err.txt)
  "$rankfeed" $command --max-stretch-bytes "${enough:-1}" >/dev/null 2>err.txt || fail "$command with the limit that is enough: $(cat err.txt)"
  grep -q max_stretch_bytes err.txt && fail "$command names a member of the library: $(cat err.txt)"
done
# So is what batch names for a row that has no room, whichever options leave none.
printf 'a panda\nthe bear eats bamboo\n' >rows.txt
for options in "--max-tokens 1" "--slot-bytes 10" "--max-tokens 3 --slot-bytes 300 --layout packed" "--truncation none --max-length 5" \
  "--truncation only_first --max-length 6" "--pad-to-length 2 --pad-to-multiple-of 8" "--max-tokens 2 --template single"; do
  "$rankfeed" batch --vocab v.rfimg --query "what is it" --docs rows.txt $options >/dev/null 2>err.txt && fail "batch $options: succeeded"
  grep -Eq 'max_(length|tokens)' err.txt && fail "batch $options names a member of the library: $(cat err.txt)"
  while read -r option value; do  # of the longer document last
    options=$(sed "s/$option [0-9]*/$option $value/" <<<"$options")
  done < <(sed -n "s/.*its row is longer than the options allow; \(.*\) is enough$/\1/p" err.txt | grep -o -e '--[a-z-]* [0-9]*')
  "$rankfeed" batch --vocab v.rfimg --query "what is it" --docs rows.txt $options >/dev/null 2>err.txt || fail "batch $options: $(cat err.txt)"
done
# roads_of OPTION...: lines of --stats, one space between columns
roads_of() { "$rankfeed" encode --stats "$@" 2>&1 >/dev/null | tr -s ' '; }
{ printf 'What is a panda?\n\na \xe2\x96\x81 b\npa\xffnda\n'; printf 'e'; printf '\xcc\x81%.0s' {1..1000}; echo; } >roads.txt
expected=$(printf '%s\n' "road texts bytes" "fast road 4 29" "length 1 2001")
equal "roads" "$expected" "$(roads_of --vocab v.rfimg roads.txt | sed '$d')"
equal "ids with --stats" "$ids" "$("$rankfeed" encode --stats --vocab v.rfimg texts.txt 2>/dev/null; echo end)"
equal "road of offsets" "$expected" "$(roads_of --vocab v.rfimg --json roads.txt | sed '$d')"
equal "road of a pipeline" "pipeline 1 1" "$(echo a | roads_of --vocab split.json | sed -n 3p)"
# A text longer than the encoder: another takes its place, and the counts go on.
{ echo bear; for ((i = 0; i < 20000; ++i)); do printf 'panda '; done; echo; } >long.txt
equal "roads of two encoders" "fast road 2 120004" "$(roads_of --vocab v.rfimg long.txt | sed -n 2p)"
isas=$("$rankfeed" info --vocab v.rfimg --json | tr -d ' \n' | grep -o '"isas":\[[^]]*' | grep -o '[a-z0-9-]*' | grep -v '^isas$')
grep -qx scalar <<<"$isas" || fail "scalar is no instruction set: $isas"
default=$("$rankfeed" info --vocab v.rfimg --json | grep '"isa"')
equal "no forced set" "$default" "$(RANKFEED_ISA="" "$rankfeed" info --vocab v.rfimg --json | grep '"isa"')"
for isa in $isas; do
  equal "forced $isa" "instruction set: $isa" "$(RANKFEED_ISA=$isa roads_of --vocab v.rfimg roads.txt | tail -n 1)"
  equal "ids of $isa" "$("$rankfeed" encode --vocab v.rfimg roads.txt)" "$(RANKFEED_ISA=$isa "$rankfeed" encode --vocab v.rfimg roads.txt)"
done
refused "instruction set that there is not" "RANKFEED_ISA=avx9: no such instruction set; there are scalar, .*neon; this CPU can run scalar" \
  env RANKFEED_ISA=avx9 "$rankfeed" info --vocab v.rfimg
equal "help whatever RANKFEED_ISA says" "$("$rankfeed" --help)" "$(RANKFEED_ISA=avx9 "$rankfeed" --help)"
absent=neon # each CPU lacks one of these
[[ $(uname -m) == aarch64 ]] && absent=avx2
refused "instruction set of another CPU" "RANKFEED_ISA=$absent: this CPU cannot run it; there are scalar" \
  env RANKFEED_ISA="$absent" "$rankfeed" encode --vocab v.rfimg texts.txt

# batch: padded and packed hold the same tokens
printf '{"text": "The giant panda is a bear."}\n{"text": "Paris"}\n' >docs.jsonl
"$rankfeed" batch --vocab v.rfimg --query "What is a panda?" --docs docs.jsonl --json >padded.json ||
  fail "batch padded"
"$rankfeed" batch --vocab v.rfimg --query "What is a panda?" --docs docs.jsonl --layout packed --json \
  >packed.json || fail "batch packed"
grep -q '"cu_seqlens":\[0,' packed.json || fail "cu_seqlens"
equal "tokens of both layouts" "$(grep -o '"tokens":[0-9]*' padded.json)" \
  "$(grep -o '"tokens":[0-9]*' packed.json)"
"$rankfeed" batch --vocab v.rfimg --query q --docs docs.jsonl --npz b.npz >/dev/null && [[ -s b.npz ]] ||
  fail "npz"

# batch from a corpus store gives the same bytes as from text, also mixed and on several threads
printf '{"id": "p", "text": "The giant panda is a bear."}\n{"id": "q", "text": "Paris is a city."}\n' >ids.jsonl
"$rankfeed" corpus build --vocab v.rfimg --docs ids.jsonl -o c.rfc >/dev/null 2>&1 || fail "corpus build"
printf '{"id": "q"}\n{"id": "x", "text": "Neither."}\n{"id": "p"}\n' >mixed.jsonl
printf '{"id": "q", "text": "Paris is a city."}\n{"id": "x", "text": "Neither."}\n{"id": "p", "text": "The giant panda is a bear."}\n' >full.jsonl
batch_of() { "$rankfeed" batch --vocab v.rfimg --query "What is a panda?" --json "$@"; }
equal "batch from the store" "$(batch_of --docs full.jsonl)" "$(batch_of --docs mixed.jsonl --corpus c.rfc)"
# a byte order mark and carriage returns are what an editor made of a file, not its texts
printf 'a panda\nb\n' >plain.txt
printf '\xef\xbb\xbfa panda\r\nb\r\n' >edited.txt
equal "a file of an editor" "$("$rankfeed" encode --vocab v.rfimg --json plain.txt)" "$("$rankfeed" encode --vocab v.rfimg --json edited.txt)"
equal "a carriage return inside of a line" '[[0,1],[1,3]]' "$(printf 'a\rb' | "$rankfeed" encode --vocab v.rfimg --json | grep -o '"offsets":[^"]*]]' | cut -d: -f2)"
equal "ids from an editor" "$("$rankfeed" decode --vocab v.rfimg <<<"64 57")" "$(printf '\xef\xbb\xbf64 57\r\n' | "$rankfeed" decode --vocab v.rfimg)"

# an id of another kind is not passed over
for id in '{}' 7.5 true '""' '[1]'; do
  printf '{"id": %s, "text": "a"}\n' "$id" >wrong.jsonl
  refused "a document's id $id" 'wrong.jsonl:1: "id" is (no string and no integer|empty)' "$rankfeed" corpus build --vocab v.rfimg --docs wrong.jsonl -o wrong.rfc
done
printf '{"id": null, "text": "a"}\n{"id": 18446744073709551615, "text": "b"}\n' |
  "$rankfeed" corpus build --vocab v.rfimg --jsonl -o wrong.rfc >/dev/null || fail "ids that are taken"
equal "ids that are taken" "1 18446744073709551615" "$("$rankfeed" corpus get --all wrong.rfc | cut -f1 | paste -sd' ')"
echo "1 -5" >wrong.ids
refused "a negative id" "line 1, column 3: not an id" "$rankfeed" decode --vocab v.rfimg wrong.ids

# a store has special tokens in texts as its rows have them, or is refused
"$rankfeed" corpus build --vocab v.rfimg --docs ids.jsonl --specials-in-text escape -o escaped.rfc >/dev/null 2>&1 || fail "corpus build, escaped"
equal "batch from a store of escaped texts" "$(batch_of --docs full.jsonl --specials-in-text escape)" \
  "$(batch_of --docs mixed.jsonl --specials-in-text escape --corpus escaped.rfc)"
refused "escaped rows, another store" "other options" "$rankfeed" batch --vocab v.rfimg --query q --docs mixed.jsonl --specials-in-text escape --corpus c.rfc
refused "a store of escaped texts, other rows" "other options" "$rankfeed" batch --vocab v.rfimg --query q --docs mixed.jsonl --corpus escaped.rfc
equal "batch on threads" "$(batch_of --docs full.jsonl)" "$(batch_of --docs full.jsonl --threads 3)"
printf '{"id": "z"}\n' >absent.jsonl
refused "neither text nor store" "z has no text" "$rankfeed" batch --vocab v.rfimg --query q --docs absent.jsonl --corpus c.rfc

# a manifest of stores is taken wherever a store is: the same bytes; and its errors
mkdir -p set/sub
printf '{"id": "p", "text": "The giant panda is a bear."}\n' | "$rankfeed" corpus build --vocab v.rfimg --jsonl -o set/1.rfc >/dev/null
printf '{"id": "q", "text": "Paris is a city."}\n' | "$rankfeed" corpus build --vocab v.rfimg --jsonl -o set/sub/2.rfc >/dev/null
said=$("$rankfeed" corpus manifest -o set/m.json set/1.rfc set/sub/2.rfc) || fail "corpus manifest"
equal "corpus manifest" "set/m.json: 2 documents, 16 tokens in 2 shards, asked one after the other" "$said"
equal "batch from a manifest" "$(batch_of --docs full.jsonl)" "$(batch_of --docs mixed.jsonl --corpus set/m.json)"
equal "batch from a mapped manifest" "$(batch_of --docs full.jsonl)" "$(batch_of --docs mixed.jsonl --corpus set/m.json --map-file)"
equal "get from a manifest" "$("$rankfeed" corpus get c.rfc q p)" "$("$rankfeed" corpus get set/m.json q p)"
equal "all of a manifest" "$("$rankfeed" corpus get --all c.rfc)" "$("$rankfeed" corpus get --all set/m.json)"
equal "info of a manifest" 2 "$("$rankfeed" corpus info set/m.json --json | grep -c '"shards": 2\|"routing": "probe"')"
"$rankfeed" corpus verify set/m.json --vocab v.rfimg | grep -q "sound: 2 documents, 16 tokens, .* in 2 shards" || fail "corpus verify of a manifest"
# one shard, and two in the order of their hashes, are routed by hash
"$rankfeed" corpus manifest -o set/one.json set/1.rfc | grep -q "found by hash" || fail "manifest of one shard"
{ "$rankfeed" corpus manifest -o set/h.json set/1.rfc set/sub/2.rfc; "$rankfeed" corpus manifest -o set/h.json set/sub/2.rfc set/1.rfc; } |
  grep -c "by hash" >routed.txt
[[ $(<routed.txt) -le 1 ]] || fail "both orders by hash"
refused "change a manifest" "a manifest cannot be changed" "$rankfeed" corpus remove set/m.json p
refused "append to a manifest" "a manifest cannot be changed" "$rankfeed" corpus append --vocab v.rfimg --docs ids.jsonl set/m.json
refused "compact a manifest" "a manifest cannot be changed" "$rankfeed" corpus compact set/m.json
refused "a store outside the folder" "not in the manifest's folder" "$rankfeed" corpus manifest -o set/x.json set/1.rfc c.rfc
no_file "a store outside the folder" set/x.json
refused "manifest of no store" "not a rankfeed file" "$rankfeed" corpus manifest -o set/x.json set/m.json
# the same documents and counts in other bytes: opening takes it, verifying does not
cp set/1.rfc keep.rfc
printf '{"id": "o", "text": "The giant panda is a bear."}\n' | "$rankfeed" corpus build --vocab v.rfimg --jsonl -o set/1.rfc >/dev/null
"$rankfeed" corpus info set/m.json >/dev/null || fail "info checks no hash"
refused "another file in the shard's place" "1.rfc: its SHA-256 is" "$rankfeed" corpus verify set/m.json
"$rankfeed" corpus append --vocab v.rfimg --docs ids.jsonl set/1.rfc >/dev/null
refused "changed shard" "1.rfc: has [0-9]+ bytes, and the manifest says" "$rankfeed" corpus info set/m.json
rm set/1.rfc
refused "missing shard" "set/1.rfc: No such file" "$rankfeed" corpus verify set/m.json
refused "batch of a missing shard" "set/1.rfc: No such file" "$rankfeed" batch --vocab v.rfimg --query q --docs mixed.jsonl --corpus set/m.json
cp keep.rfc set/1.rfc
"$rankfeed" corpus verify set/m.json >/dev/null || fail "restored shard"
printf 'damaged' | dd of=set/1.rfc bs=1 seek=12300 conv=notrunc status=none
refused "damaged shard" "1.rfc: " "$rankfeed" corpus verify set/m.json
cp keep.rfc set/1.rfc
sed 's|"1.rfc"|"../keep.rfc"|' set/m.json >set/up.json
refused "shard above the folder" "shards\[0\].file must not have" "$rankfeed" corpus info set/up.json
printf '{"format": "other"}' >set/other.json
refused "other JSON" "format must be" "$rankfeed" corpus verify set/other.json
if "$rankfeed" compile "$model" --parity sentencepiece-0.2.1 -o other.rfimg >/dev/null 2>&1; then
  refused "manifest of another vocabulary" "1.rfc: .*another vocabulary" "$rankfeed" batch --vocab other.rfimg --query q --docs mixed.jsonl --corpus set/m.json
else
  fail "compile with another parity"
fi

"$rankfeed" batch --vocab v.rfimg --query q --docs docs.jsonl --npz b.npy >/dev/null && [[ -s b.npy ]] || fail "npy"

# a template of the caller's own: its suffix survives truncation
row=$("$rankfeed" batch --vocab v.rfimg --query "panda" --docs ids.jsonl --prefix "Query:" --middle "Document:" \
  --suffix "Relevant:" --max-length 16 --truncation only_second --json | head -n 1)
suffix=$(echo "Relevant:" | "$rankfeed" encode --vocab v.rfimg | tr ' ' ',')
grep -q "$suffix\]" <<<"$row" || fail "suffix of the caller's template: $row"

# bad model files
head -c 5000 "$model" >cut.model
refused "truncated model" "cut.model" "$rankfeed" compile cut.model -o bad.rfimg
no_file "truncated model" bad.rfimg
head -c 3000 /dev/urandom >garbage.model
refused "garbled model" "garbage.model" "$rankfeed" compile garbage.model -o bad.rfimg
no_file "garbled model" bad.rfimg
refused "absent model" "no-such.model.*(no such file|not found)" "$rankfeed" compile no-such.model -o bad.rfimg
: >empty.model
refused "empty model" "empty.model" "$rankfeed" compile empty.model -o bad.rfimg
echo '{"model": {"type": "BPE", "vocab": {}, "merges": []}}' >bpe.json
refused "BPE tokenizer.json" "BPE" "$rankfeed" compile bpe.json -o bad.rfimg
cat >wp.json <<'END'
{"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
           "max_input_chars_per_word": 100, "vocab": {}}}
END
refused "WordPiece without pieces" "model.vocab is empty" "$rankfeed" compile wp.json -o bad.rfimg
echo '{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}, "normalizer": {"type": "ByteLevel"}}' >bl.json
refused "unsupported normalizer" "ByteLevel" "$rankfeed" compile bl.json -o bad.rfimg
refused "SentencePiece model as huggingface" "parity" "$rankfeed" encode --vocab "$model" --parity huggingface
echo '{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}' >ok.json
refused "tokenizer.json as sentencepiece" "parity|SentencePiece" "$rankfeed" encode --vocab ok.json --parity sentencepiece
"$rankfeed" compile "$model" -o . >/dev/null 2>err.txt && fail "folder as output"
cases=$((cases + 1))
mkfifo pipe && refused "pipe as output" "not a regular file" "$rankfeed" compile "$model" -o pipe
[[ -p pipe ]] || fail "the pipe was replaced"
refused "image of another parity" "SentencePiece parity" "$rankfeed" encode --vocab v.rfimg --parity huggingface
equal "image of the same parity" "$ids" "$("$rankfeed" encode --vocab v.rfimg --parity sentencepiece texts.txt; echo end)"
for name in sentencepiece sentencepiece-0.2.1; do
  "$rankfeed" compile "$model" --parity "$name" -o "$name.rfimg" >/dev/null || fail "compile --parity $name"
  equal "parity of the image" 1 "$("$rankfeed" info --vocab "$name.rfimg" --json | grep -c "\"parity\": \"$name\"")"
  equal "image and model of $name" "$("$rankfeed" encode --vocab "$name.rfimg" texts.txt)" \
    "$("$rankfeed" encode --vocab "$model" --parity "$name" texts.txt)"
done
refused "image of the other rule" "compiled for sentencepiece parity" "$rankfeed" encode --vocab sentencepiece.rfimg --parity sentencepiece-0.2.1
refused "parity that there is not" "sentencepiece-0.2.1" "$rankfeed" encode --vocab "$model" --parity sentencepiece-0.1
refused "empty vocabulary" "empty" "$rankfeed" encode --vocab empty.model
refused "unwritable output" "v|denied|no such" "$rankfeed" compile "$model" -o no-such-folder/v.rfimg
if [[ -f $shared/models/barthez_bpe.model ]]; then
  "$rankfeed" compile "$shared/models/barthez_bpe.model" -o bpe.rfimg
  equal "BPE .model" "241 1938 984" "$(echo "Les petits enfants" | "$rankfeed" encode --vocab bpe.rfimg)"
else
  echo "SKIPPED: the BPE .model, absent from $shared"
fi

# private copy and --map-file: the same answers
equal "mapped image" "$ids" "$("$rankfeed" encode --vocab v.rfimg --map-file texts.txt; echo end)"
for pages in auto transparent base file; do
  equal "--pages $pages" "$ids" "$("$rankfeed" encode --vocab v.rfimg --pages "$pages" texts.txt; echo end)"
done
equal "base pages" "base 0" "$("$rankfeed" info --vocab v.rfimg --pages base | awk '/^(pages|huge_page_bytes) /{print $2}' | paste -sd' ')"
refused "--pages and --map-file" "excludes" "$rankfeed" info --vocab v.rfimg --pages base --map-file
refused "unknown pages" "enormous not in" "$rankfeed" info --vocab v.rfimg --pages enormous
equal "mapped store" "$(batch_of --docs full.jsonl)" "$(batch_of --docs mixed.jsonl --corpus c.rfc --map-file)"

# row templates: a store of documents with their literals, and none without
cat >template.json <<'END'
{"parts": [{"text": "Query: "}, {"role": "query"}, "apart", {"text": " Document: "}, {"role": "document"}, "apart", {"text": "Relevant:"}]}
END
rows=("$rankfeed" batch --vocab v.rfimg --query "What is a giant panda?" --template template.json --layout packed --json)
"$rankfeed" corpus build --vocab v.rfimg --docs full.jsonl --template template.json -o template.rfc >/dev/null || fail "store of a template"
equal "stored rows of a template" "$("${rows[@]}" --docs full.jsonl)" "$("${rows[@]}" --docs mixed.jsonl --corpus template.rfc)"
[[ $("${rows[@]}" --docs full.jsonl | wc -c) -gt 100 ]] || fail "rows of a template"
# one thread keeps the text of a long document while it joins those of shorter ones
awk 'BEGIN {for (n = 3000; n > 0; n = int(n / 7)) {s = ""; for (i = 0; i < n; i++) s = s "panda " i " "; print s}; print "x"}' >shrinking.txt
"$rankfeed" corpus build --vocab v.rfimg --docs shrinking.txt --threads 1 --template template.json -o shrinking.rfc >/dev/null || fail "store of shorter and shorter texts"
head -c 0 >one.ids
while IFS= read -r line; do
  printf ' Document: %s\n' "$line" >one.txt
  "$rankfeed" encode --vocab v.rfimg one.txt >>one.ids
done <shrinking.txt
equal "ids of shorter and shorter texts" "$(cat one.ids)" "$("$rankfeed" corpus get shrinking.rfc --all | cut -f2)"
"$rankfeed" corpus verify template.rfc --vocab v.rfimg --template template.json | grep -q "sound: 3 documents" || fail "verify a template's store"
refused "verify without the template" "give it beside --vocab" "$rankfeed" corpus verify template.rfc --vocab v.rfimg
refused "verify with a template that it was made without" "other options" "$rankfeed" corpus verify c.rfc --vocab v.rfimg --template template.json
refused "store without the template" "other options" "${rows[@]}" --docs mixed.jsonl --corpus c.rfc
refused "store of a template, without it" "other options" "$rankfeed" batch --vocab v.rfimg --query q --docs mixed.jsonl --corpus template.rfc
refused "text beside a row template" "do not go with a row template" "${rows[@]}" --docs full.jsonl --suffix x
mkfifo pipe.json
refused "a pipe as a template" "pipe.json: is a pipe, not a file" timeout 20 "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --template pipe.json
rm pipe.json
mkdir folder.json
refused "a folder as a template" "folder.json: is a folder, not a file" "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --template folder.json
printf '{"parts": [' >broken.json
refused "a broken template" "broken.json: byte 11: not valid JSON" "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --template broken.json
refused "unknown template" "no row template x; there are qwen3-reranker" "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --template x
refused "special tokens of another vocabulary" "no such special token" "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --template qwen3-reranker
refused "instruction without a template" "only a row template" "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --instruction i
echo '{"parts": [{"role": "query"}]}' >no_document.json
refused "template without a document" "the document once" "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --template no_document.json
echo '{"parts": [{"rule": "query"}]}' >no_role.json
refused "part of no kind" "parts\[0\].*one of text, special and role" "$rankfeed" batch --vocab v.rfimg --query q --docs full.jsonl --template no_role.json

# bad images
size=$(stat -c %s v.rfimg)
cp v.rfimg flipped.rfimg
printf '\xff' | dd of=flipped.rfimg bs=1 seek=$((size / 2)) conv=notrunc status=none
cmp -s v.rfimg flipped.rfimg && printf '\x00' | dd of=flipped.rfimg bs=1 seek=$((size / 2)) conv=notrunc status=none
refused "flipped byte" "checksum" "$rankfeed" encode --vocab flipped.rfimg
cp v.rfimg version.rfimg
printf '\x63' | dd of=version.rfimg bs=1 seek=8 conv=notrunc status=none
refused "wrong version" "version" "$rankfeed" encode --vocab version.rfimg
head -c $((size - 100)) v.rfimg >short.rfimg
refused "truncated image" "truncated|structure|image" "$rankfeed" encode --vocab short.rfimg

# bad requests
batch=("$rankfeed" batch --vocab v.rfimg --docs docs.jsonl --query "What is a giant panda?")
refused "stride too large" "stride 32 .* below 28" "${batch[@]}" --truncation only_second --overflow short --max-length 32 --stride 32
refused "windows that cut the query" "truncation: windows need only_second" "${batch[@]}" --overflow short
refused "windows without a limit" "overflow: windows need a --max-length" "${batch[@]}" --truncation only_second --overflow aligned --max-length 0
refused "pads of packed rows" "pad-to-length: packed rows have no padding" "${batch[@]}" --layout packed --pad-to-length 9
refused "the second of one text" "truncation: rows of the single template have no second text" "${batch[@]}" --template single --truncation only_second
refused "max_length below the specials" "max-length 3 .* 4 special tokens" "${batch[@]}" --max-length 3
: >none.jsonl
refused "no documents" "no documents" "$rankfeed" batch --vocab v.rfimg --query q --docs none.jsonl
echo '{"title": "x"}' >notext.jsonl
refused "no text field" "notext.jsonl:1.*text" "$rankfeed" batch --vocab v.rfimg --query q --docs notext.jsonl
echo '{"text": ' >badjson.jsonl
refused "bad JSON" "badjson.jsonl:1" "$rankfeed" encode --vocab v.rfimg badjson.jsonl
echo '1 x 3' >badids.txt
refused "not an id" "column 3" "$rankfeed" decode --vocab v.rfimg badids.txt
echo '99999999' >rangeids.txt
refused "id out of range" "outside the vocabulary" "$rankfeed" decode --vocab v.rfimg rangeids.txt
refused "no vocabulary" "vocab" "$rankfeed" encode
refused "unknown command" "no command .rankfeed frobnicate.; there are compile, info" "$rankfeed" frobnicate
refused "mistyped command" "did you mean .rankfeed encode.\\?" "$rankfeed" encoed --vocab v.rfimg
refused "mistyped command of a command" "did you mean .rankfeed corpus verify.\\?" "$rankfeed" corpus verfiy docs.rfc
cases=$((cases + 1))
"$rankfeed" encoed 2>/dev/null
[[ $? == 2 ]] || fail "mistyped command: exit status"
# A help is as wide as the terminal, 80 columns where there is none; options of one kind are a group of many.
widest() { tr -d '\r' | sed '/^Examples:$/,$d' | grep -vE '^  -|^  [A-Z]|^Usage' | wc -L; }
for command in "" encode batch "corpus build" compile "receipt run"; do
  cases=$((cases + 2))
  # shellcheck disable=SC2086
  (($("$rankfeed" $command --help | widest) <= 80)) || fail "help of $command: a line of more than 80 columns"
  # shellcheck disable=SC2086
  width=$(script -qec "stty cols 64; '$rankfeed' $command --help" /dev/null </dev/null | widest)
  ((width > 40 && width <= 64)) || fail "help of $command: $width columns in a terminal of 64"
done
equal "groups of encode" "Options: Vocabulary: Texts: Output: Rows: Examples:" "$("$rankfeed" encode --help | grep -E '^[A-Z][a-z]+:$' | grep -v Positionals | xargs)"
equal "groups of few options" "Options: Examples:" "$("$rankfeed" compile --help | grep -E '^[A-Z][a-z]+:$' | grep -v Positionals | xargs)"
equal "what a vocabulary is, once" 1 "$({ "$rankfeed" --help; "$rankfeed" batch --help; "$rankfeed" encode --help; } | tr -s ' \n' ' ' | grep -o 'padding token\. Truncation and padding' | wc -l)"
# An option that is none: the nearest is named, before anything that is missing for want of it.
refused "misspelt option" "^rankfeed: .rankfeed encode. has no option --specail; did you mean --special\?$" "$rankfeed" encode --vocab v.rfimg --specail texts.txt
refused "underscore in an option" "has no option --max_length; did you mean --max-length\?$" "$rankfeed" batch --max_length=5 --query q --docs docs.jsonl
refused "beginning of an option" "has no option --max-stretch; did you mean --max-stretch-bytes\?$" "$rankfeed" encode --vocab v.rfimg --max-stretch 5 texts.txt
refused "misspelt required option" ".rankfeed corpus build. has no option --vocob; did you mean --vocab\?$" "$rankfeed" corpus build --vocob v.rfimg --docs ids.jsonl -o x.rfc
refused "option like no other" "^rankfeed: .rankfeed info. has no option --temperature; .rankfeed info --help. lists those it has$" "$rankfeed" info --vocab v.rfimg --temperature 1
refused "short option" ".rankfeed info. has no option -x; .rankfeed info --help. lists" "$rankfeed" info --vocab v.rfimg -x
refused "option before a command" "^rankfeed: .rankfeed. has no option --versoin; did you mean --version\?$" "$rankfeed" --versoin
refused "word too much" "not expected: more" "$rankfeed" info --vocab v.rfimg more
cases=$((cases + 1))
"$rankfeed" info --nothing >/dev/null 2>&1
[[ $? == 2 ]] || fail "exit code of an unknown option"
# The help of every command ends in its own examples.
commands_of() { "$rankfeed" "$@" --help | sed -n '/^Subcommands:/,/^[A-Z]/p' | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'; }
for command in $(commands_of); do
  inner=$(commands_of "$command")
  for name in "" $inner; do
    full="$command${name:+ $name}"
    # shellcheck disable=SC2086
    examples=$("$rankfeed" $full --help | sed -n '/^Examples:$/,$p')
    equal "examples of $full" "Examples:" "$(head -n 1 <<<"$examples")"
    grep -q "rankfeed $full " <<<"$examples" || fail "examples of $full: $examples"
  done
done
((cases > 60)) || fail "few cases: are the commands found?"
printf '{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}' >small.json
"$rankfeed" compile small.json -o small.rfimg | grep -qE ', [0-9.]+ kB, ' || fail "a small image's size is not in kB"
mkdir -p vocabulary && cp small.json vocabulary/tokenizer.json
hash_of() { "$rankfeed" info --vocab "$1" --json | grep config_hash; }
equal "vocabulary of a folder" "$(hash_of small.json)" "$(hash_of vocabulary)"
mkdir -p empty
refused "folder without a vocabulary" "empty has no tokenizer.json" "$rankfeed" info --vocab empty
# A query that leaves a document no token is an error of each document, not of the batch.
cases=$((cases + 1))
"${batch[@]}" --truncation only_second --max-length 8 >out.txt 2>err.txt && fail "documents failed, and batch succeeded"
grep -qE "rankfeed: [0-9]+ of [0-9]+ documents failed" err.txt || fail "documents failed: stderr is '$(cat err.txt)'"
grep -qE "its row is longer than the options allow; --max-length [0-9]+ is enough" err.txt || fail "query too long: stderr is '$(cat err.txt)'"
cases=$((cases + 1))
"$rankfeed" encode --vocab v.rfimg texts.txt >/dev/full 2>err.txt && fail "full disk: succeeded"
grep -q "standard output" err.txt || fail "full disk: stderr is '$(cat err.txt)'"

# a model's folder as vocabulary: its configuration gives what the command line does not
mkdir folder other
cat >folder/tokenizer.json <<'JSON'
{"truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
 "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 2, "pad_type_id": 0, "pad_token": "<pad>"},
 "added_tokens": [{"id": 2, "content": "<pad>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
 "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["<pad>", 0.0], ["b", -1.0]]}}
JSON
printf 'aaaabbbb\na\n' >ab.txt
echo '{"model_max_length": 5, "truncation_side": "left", "padding_side": "left"}' >folder/tokenizer_config.json
rows() { "$rankfeed" batch --query a --docs ab.txt --npz rows.npy "$@" >/dev/null && od -An -v -t d4 -w4 -j 128 rows.npy | xargs; }
equal "encode with a folder" "1 1 1 1 3 3 3 3" "$("$rankfeed" encode --vocab folder ab.txt | head -n 1)"
equal "folder's limit and sides" "1 3 3 3 3 2 2 2 1 1" "$(rows --vocab folder)"
equal "options before the folder's" "1 1 1 1 1 2" "$(rows --vocab folder --max-length 3 --truncation-side right --padding-side right)"
equal "its file by itself" "1 1 1 1 1 3 3 3 3 1 1 2 2 2 2 2 2 2" "$(rows --vocab folder/tokenizer.json --padding-side right)"
echo '{"model_max_length": 5}' >folder/tokenizer_config.json
equal "sides of the file where the configuration says none" "1 1 1 1 1 1 1 2 2 2" "$(rows --vocab folder)"
sed -i 's/"direction": "Right"/"direction": "Left"/g' folder/tokenizer.json
equal "left sides of the file" "1 3 3 3 3 2 2 2 1 1" "$(rows --vocab folder)"
sed -i 's/"direction": "Left"/"direction": "Right"/g' folder/tokenizer.json
# ... and what its tokenizer.json carries, when asked for: length 2 and pads up to 9
equal "encode as the file says" "1 1 2 2 2 2 2 2 2" "$("$rankfeed" encode --vocab folder --file-defaults ab.txt | head -n 1)"
equal "pads as the file says" '"ids":[1,2,2,2,2,2,2,2,2],"pieces":["a","<pad>","<pad>"' \
  "$("$rankfeed" encode --vocab folder/tokenizer.json --file-defaults --json ab.txt | tail -n 1 | grep -o '"ids":.*"pieces":\["a","<pad>","<pad>"')"
equal "batch as the file says" "1 1 2 2 2 2 2 2 2 1 1 2 2 2 2 2 2 2" "$(rows --vocab folder --file-defaults)"
equal "options before the file's" "1 1 3 3 3 3 2 2 1 1 2 2 2 2 2 2" \
  "$(rows --vocab folder --file-defaults --truncation-side left --max-length 6 --truncation only_second --pad-to-length 8)"
refused "defaults of an image" "file-defaults needs a tokenizer.json as --vocab; v.rfimg is none" "$rankfeed" encode --vocab v.rfimg --file-defaults texts.txt
sed 's/"LongestFirst"/"OnlySecond"/' folder/tokenizer.json >second.json
refused "one text where the second is cut" "text 1: the file cuts the second of two texts" "$rankfeed" encode --vocab second.json --file-defaults ab.txt
echo '{"pad_token": {"content": "b", "special": true}}' >folder/special_tokens_map.json
refused "another pad token" "pad_token b has id 3, the vocabulary's 2, which rows are padded with" "$rankfeed" batch --vocab folder --query a --docs ab.txt
"$rankfeed" batch --vocab folder --query a --docs ab.txt --layout packed >/dev/null || fail "another pad token, packed"
echo '{"model_max_length": 5, "pad_token": "b", "added_tokens_decoder": {}}' >folder/tokenizer_config.json
echo '{"pad_token": "<pad>"}' >folder/special_tokens_map.json
refused "pad token of the configuration" "pad_token b has id 3" "$rankfeed" batch --vocab folder --query a --docs ab.txt
echo '{"model_max_length": 5, "pad_token": "b"}' >folder/tokenizer_config.json
equal "the map before the configuration" "1 1 1 1 1 1 1 2 2 2" "$(rows --vocab folder)"
echo '[]' >folder/special_tokens_map.json
refused "broken map" "special_tokens_map.json is no JSON object" "$rankfeed" batch --vocab folder --query a --docs ab.txt
rm folder/special_tokens_map.json
echo '{"model_max_length": 1000000000000000019884624838656}' >folder/tokenizer_config.json
equal "no limit" 18 "$(rows --vocab folder | wc -w)"
refused "folder without a vocabulary" "other has no tokenizer.json" "$rankfeed" encode --vocab other ab.txt
cp "$model" other/spiece.model
refused "folder of a .model" "no tokenizer.json, vocab.txt or vocab.json; --vocab takes its other/spiece.model" "$rankfeed" encode --vocab other ab.txt
echo '{"padding_side": "up"}' >folder/tokenizer_config.json
refused "bad configuration" 'padding_side is "up"; it must be left or right' "$rankfeed" batch --vocab folder --query a --docs ab.txt
echo '[' >folder/tokenizer_config.json
refused "broken configuration" "tokenizer_config.json: byte 2: not valid JSON" "$rankfeed" batch --vocab folder --query a --docs ab.txt

# receipt, audit, trace
"$rankfeed" trace make --docs docs.jsonl --requests 6 --candidates 2 --rate 200 -o t.jsonl >/dev/null || fail "trace make"
equal "trace lines" 7 "$(wc -l <t.jsonl)"
# a pipe or a device is written to, not replaced; a message that cannot be written ends nothing in another way
mkfifo out.pipe
cat out.pipe >piped.jsonl &
"$rankfeed" trace make --docs docs.jsonl --requests 6 --candidates 2 --rate 200 -o out.pipe >/dev/null || fail "trace to a pipe"
wait $!
[[ -p out.pipe ]] || fail "the pipe was replaced"
equal "trace through a pipe" "$(cat t.jsonl)" "$(cat piped.jsonl)"
equal "trace to standard output" "$(cat t.jsonl)" "$("$rankfeed" trace make --docs docs.jsonl --requests 6 --candidates 2 --rate 200 -o -)"
"$rankfeed" corpus manifest -o out.pipe set/1.rfc >/dev/null &
cat out.pipe >piped.json
wait $! || fail "manifest to a pipe"
[[ -p out.pipe && -s piped.json ]] || fail "the manifest's pipe"
"$rankfeed" info --vocab none 2>/dev/full
equal "status where no message can be written" 1 "$?"
"$rankfeed" --help >/dev/full
equal "status where no help can be written" 1 "$?"
measure=(--vocab v.rfimg --trace t.jsonl --encode-seconds 0.02)
"$rankfeed" receipt run "${measure[@]}" -o r.json >/dev/null || fail "receipt run"
equal "a receipt and itself" "0 fields differ by more than 5 %, 0 of them for the worse" "$("$rankfeed" receipt diff r.json r.json | tail -n 1)"
equal "receipts side by side" "  ns of CPU a token" "$("$rankfeed" receipt show r.json r.json | grep -o '^  ns of CPU a token')"
equal "its verdict" "same: the ids of" "$("$rankfeed" receipt diff r.json r.json | head -n 1 | cut -c1-16)"
sed 's/"ids_hash": "[0-9a-f]*"/"ids_hash": "0"/' r.json >other_ids.json
"$rankfeed" receipt diff r.json other_ids.json --gate --tolerance 9 >out.txt 2>err.txt && fail "other ids pass the gate"
equal "why other ids do not pass" 1 "$(grep -c 'the ids differ' err.txt)"
equal "the verdict on other ids" "different ids" "$("$rankfeed" receipt diff r.json other_ids.json --json | grep -o '"sentence": "different ids' | cut -d'"' -f4)"
"$rankfeed" audit "${measure[@]}" --load 1 --html report.html --json >audit.json || fail "audit"
equal "findings" 10 "$(grep -c '"verdict"' audit.json)"
grep -q '"schema":"rankfeed-receipt"' report.html || fail "report"
refused "no workload" "give requests" "$rankfeed" audit --vocab v.rfimg
refused "a corpus that nothing asks" "candidates that a --trace names" "$rankfeed" audit --vocab v.rfimg --docs docs.jsonl --corpus c.rfc
refused "bad trace" "docs.jsonl:1: no string field \"query\"" "$rankfeed" audit --vocab v.rfimg --trace docs.jsonl
refused "dead adapter" "ended without an answer" "$rankfeed" receipt run "${measure[@]}" --reference true -o none.json
no_file "dead adapter" none.json
refused "a reference misspelled" "huggingface and sentencepiece need none" "$rankfeed" receipt run "${measure[@]}" --reference hugginface -o none.json
refused "not a receipt" "^rankfeed: audit.json: not a receipt" "$rankfeed" receipt diff r.json audit.json
sed 's/"schema_version": 3/"schema_version": 2/' r.json >old.json
refused "a receipt of another version" "^rankfeed: old.json: schema version 2" "$rankfeed" receipt diff r.json old.json
refused "a load without arrival times" "[(]--rate draws some" "$rankfeed" audit --vocab v.rfimg --docs docs.jsonl --load 1
"$rankfeed" receipt statement r.json --vocab v.rfimg --trace t.jsonl -o stated.json >/dev/null || fail "receipt statement"
equal "a receipt in a statement" "same: the ids of" "$("$rankfeed" receipt diff r.json stated.json | head -n 1 | cut -c1-16)"
refused "a measured vocabulary in place" "memory of its own" "$rankfeed" receipt run "${measure[@]}" --pages file -o none.json
"$rankfeed" receipt run "${measure[@]}" --pages base -o base.json >/dev/null || fail "receipt run --pages base"
equal "pages of a receipt" '"asked": "base"' "$(grep -o '"asked": "[a-z]*"' base.json)"

# A WordPiece folder through every command, which name the kind of model.
mkdir bert && printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwhat\nis\na\npan\n##da\n?\nbear\n' >bert/vocab.txt
echo '{"do_lower_case": true, "model_max_length": 9}' >bert/tokenizer_config.json
"$rankfeed" compile bert/vocab.txt -o bert.rfimg >/dev/null || fail "compile of a vocab.txt"
equal "kind of model" 1 "$("$rankfeed" info --vocab bert.rfimg --json | grep -c '"model": "wordpiece"')"
printf 'What is a Panda?\nA bear\n' >bert.txt
for vocab in bert bert.rfimg; do
  equal "ids of $vocab" "2 5 6 7 8 9 10 3 2 7 11 3" "$("$rankfeed" encode --vocab $vocab --special bert.txt | xargs)"
  equal "text of $vocab" "what is a panda? a bear" "$("$rankfeed" encode --vocab bert.rfimg bert.txt | "$rankfeed" decode --vocab $vocab | xargs)"
done
printf '{"id": "p", "text": "What is a Panda?"}\n{"id": "q", "text": "A bear"}\n' >bert.jsonl
printf '{"id": "p"}\n{"id": "q"}\n' >bert_ids.jsonl
"$rankfeed" corpus build --vocab bert --docs bert.jsonl -o bert.rfc >/dev/null 2>&1 || fail "corpus build of WordPiece"
"$rankfeed" corpus verify bert.rfc --vocab bert.rfimg >/dev/null || fail "corpus verify of WordPiece"
refused "store of another kind of model" "another vocabulary" "$rankfeed" corpus verify bert.rfc --vocab v.rfimg
rows=$("$rankfeed" batch --vocab bert --query 'What?' --docs bert.jsonl --json)
equal "rows from a WordPiece store" "$rows" "$("$rankfeed" batch --vocab bert --query 'What?' --docs bert_ids.jsonl --corpus bert.rfc --json)"
equal "WordPiece rows" 1 "$(grep -cF '"input_ids":[[2,5,10,3,5,6,7,8,3],[2,5,10,3,7,11,3,0,0]]' <<<"$rows")"
equal "token types" 1 "$(grep -cF '"token_type_ids":[[0,0,0,0,1,1,1,1,1],[0,0,0,0,1,1,1,0,0]]' <<<"$rows")"
"$rankfeed" trace make --docs bert.jsonl --requests 4 --candidates 2 --rate 200 -o bert.trace >/dev/null || fail "trace make of WordPiece"
measure=(--vocab bert --trace bert.trace --encode-seconds 0.02)
"$rankfeed" receipt run "${measure[@]}" -o bert_receipt.json >/dev/null || fail "receipt run of WordPiece"
equal "kind of model in a receipt" 1 "$(grep -c '"family": "wordpiece"' bert_receipt.json)"
equal "kind of model in show" 1 "$("$rankfeed" receipt show bert_receipt.json | grep -c '^rankfeed .*, wordpiece, on ')"
equal "kind of model in an audit" 1 "$("$rankfeed" audit "${measure[@]}" --load 1 | grep -c '^rankfeed .*, wordpiece, on ')"

# Every path is named as it was given, with what is wrong there.
mkdir -p nothing
cp "$model" model.json
while IFS='|' read -r what path rest; do
  for missing in /absent absent absent/; do
    [[ $path != file || $missing == absent ]] || continue
    # shellcheck disable=SC2086
    refused "$what, $missing" "^rankfeed: (cannot open |cannot create )?$missing(/x)?: .*No such file or directory" "$rankfeed" ${rest//PATH/$missing}
  done
done <<'END'
vocabulary|folder|info --vocab PATH
source|folder|compile PATH -o x.rfimg
image to write|file|compile small.json -o PATH/x
vocabulary of encode|folder|encode --vocab PATH texts.txt
texts|file|encode --vocab v.rfimg PATH
ids|file|decode --vocab v.rfimg PATH
documents|file|batch --vocab v.rfimg --query q --docs PATH
store of batch|file|batch --vocab v.rfimg --query q --docs docs.jsonl --corpus PATH
store to write|file|corpus build --vocab v.rfimg --docs ids.jsonl -o PATH/x
store to append to|file|corpus append --vocab v.rfimg --docs ids.jsonl PATH
store|file|corpus info PATH
store of get|file|corpus get PATH a
store of remove|file|corpus remove PATH a
store to verify|file|corpus verify PATH
store to compact|file|corpus compact PATH
stores to merge|file|corpus merge -o x.rfc PATH
stores of a manifest|file|corpus manifest -o x.json PATH
receipt|file|receipt show PATH
trace|file|audit --vocab v.rfimg --trace PATH
END
for command in "info nothing" "get nothing a" "remove nothing a" "verify nothing" "compact nothing" "merge -o x.rfc nothing" \
  "manifest -o x.json nothing" "append --vocab v.rfimg --docs ids.jsonl nothing"; do
  # shellcheck disable=SC2086
  refused "a folder as a store, $command" "^rankfeed: nothing: is a folder, not a file$" "$rankfeed" corpus $command
done
if "$rankfeed" --help | grep -q '^  serve '; then
  for missing in /absent absent absent/; do
    refused "model of rerank, $missing" "^rankfeed: $missing: No such file" "$rankfeed" rerank --model $missing --query q --docs docs.jsonl
    refused "model of rerank with a vocabulary, $missing" "^rankfeed: $missing: No such file" "$rankfeed" rerank --vocab v.rfimg --model $missing --query q --docs docs.jsonl
    refused "model of serve, $missing" "^rankfeed: (cannot open )?$missing: No such file" "$rankfeed" serve --port 0 --model $missing
    refused "model of serve with a vocabulary, $missing" "^rankfeed: $missing: No such file" "$rankfeed" serve --port 0 --vocab v.rfimg --model $missing
  done
  refused "store of serve" "^rankfeed: absent: No such file" "$rankfeed" serve --port 0 --vocab v.rfimg --model "$source/data/reranker" --corpus absent
  refused "key of serve" "^rankfeed: absent: No such file" "$rankfeed" serve --port 0 --vocab v.rfimg --model nothing --api-key-file absent
fi
# What is named .json and is none is broken JSON, not a broken .model; a .model of that name is one.
printf 'not json\n[UNK]\n' >broken.json
refused "no JSON" "^rankfeed: broken.json: byte 0: not valid JSON" "$rankfeed" info --vocab broken.json
printf '{"a": 1, "b" 2}' >broken.json
refused "broken JSON" "^rankfeed: broken.json: byte 13: not valid JSON" "$rankfeed" info --vocab broken.json
printf '{ not json' >broken.json
refused "JSON of no key" "^rankfeed: broken.json: byte [0-9]+: not valid JSON" "$rankfeed" compile broken.json -o x.rfimg
printf 'xx' >broken.json  # a field of protobuf, without a meaning in a .model
refused "two letters" "^rankfeed: broken.json: byte 0: not valid JSON" "$rankfeed" info --vocab broken.json
equal "a .model named .json" "$(hash_of "$model")" "$(hash_of model.json)"

# Folders of pieces against what transformers makes of them; an image is refused beside a folder with other settings.
if "${RANKFEED_PYTHON:-python3}" -c 'import transformers' >/dev/null 2>&1; then
  "$RANKFEED_PYTHON" - <<'END' || fail "a folder of BPE"
import json, os
os.mkdir("bpe")
printed = [*range(33, 127), *range(0xa1, 0xad), *range(0xae, 0x100)]
pieces = [chr(b) for b in printed] + [chr(256 + i) for i in range(256 - len(printed))] + ["an", "\u0120p", "\u0120pan", "<|endoftext|>"]
json.dump({piece: i for i, piece in enumerate(pieces)}, open("bpe/vocab.json", "w"))
open("bpe/merges.txt", "w", encoding="utf-8").write("#version: 0.2\na n\n\u0120 p\n\u0120p an\n")
json.dump({"tokenizer_class": "GPT2Tokenizer"}, open("bpe/tokenizer_config.json", "w"))
END
  for kind in bert bpe; do
    equal "parity of a folder, $kind" "2 documents, 22 bytes, 0 mismatches against transformers" \
      "$("$rankfeed" parity --vocab $kind --against huggingface bert.txt 2>err.txt | sed 's/ [0-9]* tokens,//; s/transformers .*/transformers/')"
  done
  "$rankfeed" receipt run --vocab bert.rfimg --docs bert.txt --requests 2 --encode-seconds 0.01 --unicode-texts 100 \
    --reference huggingface --reference-file bert -o parity.json >/dev/null || fail "receipt run --reference huggingface"
  equal "parity of a receipt" "    \"mismatches\": 0," "$(sed -n '/"parity": {/,$p' parity.json | grep -m 1 mismatches)"
  equal "reference of a receipt" 1 "$(grep -c '"implementation": "transformers [0-9.]* with tokenizers"' parity.json)"
  refused "a reference of an image" "with --reference-file" "$rankfeed" audit --vocab bert.rfimg --docs bert.txt --reference huggingface
  refused "the other reference" "compare it with --reference huggingface" "$rankfeed" audit --vocab bert --docs bert.txt --reference sentencepiece
  echo '{"do_lower_case": false}' >bert/tokenizer_config.json
  refused "an image of other settings" "bert.rfimg was not compiled from bert" "$rankfeed" parity --vocab bert.rfimg --reference bert --against huggingface bert.txt
else
  echo "SKIPPED: rankfeed parity over folders of pieces, no transformers for ${RANKFEED_PYTHON:-python3}"
fi

echo "$cases cases, $failures failed"
exit $((failures > 0))
