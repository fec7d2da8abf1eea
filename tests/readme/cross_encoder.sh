#!/usr/bin/env bash
# cross_encoder.sh PYTHON SOURCE WORK: the program with a CrossEncoder in docs/python.md, on data/reranker and data/sample, with
# the line that puts rankfeed below it and without. Both must print the same ranking, and the line must do something.
# PYTHON: has rankfeed and sentence-transformers.
set -euo pipefail
python=$1 source=$2 work=$3
if [[ ! -x $python ]] || ! "$python" -c "import sentence_transformers" 2>/dev/null; then
  echo "SKIPPED: no sentence-transformers at $python (scripts/python-env.sh hf makes it: 5 GB)"
  exit 77
fi
export HF_HUB_OFFLINE=1 HF_HUB_DISABLE_PROGRESS_BARS=1
rm -rf "$work"
mkdir -p "$work/model"
cp "$source"/data/reranker/{config.json,model.safetensors} "$work/model/"
cp "$source"/data/sample/{docs.jsonl,query.txt} "$work/"
"$python" "$source/data/make_tokenizer_json.py" "$source/data/default.model" "$work/tokenizer.json"
# The model reads token types: 1 for the passage and what ends it (data/train_reranker.py).
"$python" - "$work/tokenizer.json" "$work/model" <<'EOF'
import json, sys
data = json.load(open(sys.argv[1], encoding="utf-8"))
parts = data["post_processor"]["pair"]
for part in parts[-2:]:
    next(iter(part.values()))["type_id"] = 1
json.dump(data, open(sys.argv[2] + "/tokenizer.json", "w", encoding="utf-8"))
json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "bos_token": "<s>", "eos_token": "</s>",
           "unk_token": "<unk>", "pad_token": "<pad>", "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]},
          open(sys.argv[2] + "/tokenizer_config.json", "w", encoding="utf-8"))
EOF
awk '/^```/ { if (inside && text ~ /CrossEncoder\("model"/) { printf "%s", text; exit } inside = !inside; text = ""; next }
     inside { text = text $0 "\n" }' "$source/docs/python.md" >"$work/with.py"
grep -v 'rankfeed' "$work/with.py" >"$work/without.py"
[[ $(wc -l <"$work/with.py") == $(($(wc -l <"$work/without.py") + 2)) ]] || { echo "not one line and its import"; exit 1; }
cat >>"$work/with.py" <<'EOF'
assert isinstance(model.tokenizer, rankfeed.hf.Accelerated) and model.tokenizer.rankfeed_off is None
assert model.tokenizer.rankfeed_fallbacks == {}, model.tokenizer.rankfeed_fallbacks
EOF
cd "$work"
for way in without with; do
  "$python" "$way.py" >"$way.out" 2>"$way.log" || { tail -20 "$way.log"; exit 1; }
done
cat with.out
[[ $(wc -l <with.out) == 10 ]] || { echo "expected ten documents"; exit 1; }
grep -q "^0.*The giant panda" <(head -1 with.out) || { echo "the best document is not the one on pandas"; exit 1; }
diff without.out with.out || { echo "the line changes the ranking"; exit 1; }
