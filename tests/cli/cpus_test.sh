#!/usr/bin/env bash
# cpus_test.sh RANKFEED SOURCE WORK: the program on CPUs without AVX-512, AVX2 or SSE4, under qemu-user: ids of both
# parity modes are those of this machine, and the reranker ranks alike. What a CPU lacks is an illegal instruction there.
set -euo pipefail
rankfeed=$1 source=$2 work=$3
[[ $(uname -m) == x86_64 ]] || { echo "SKIPPED: not x86-64"; exit 77; }
command -v qemu-x86_64 >/dev/null || { echo "SKIPPED: no qemu-x86_64 (qemu-user)"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
python3 - "$source/data/sample/docs.jsonl" "$work/texts.txt" <<'PY'
import json, sys
with open(sys.argv[1], encoding="utf-8") as lines, open(sys.argv[2], "w", encoding="utf-8") as out:
    texts = [" ".join(json.loads(line)["text"].split()) for line in lines]
    out.write("\n".join(texts) + "\n" + " ".join(texts) + "\n")
    out.write("\u0130\ufb01 \uff76\uff9e e\u0301 \U0001f469\u200d\U0001f467 </s> <mask>\n \n\n")
PY
python3 "$source/data/make_tokenizer_json.py" "$source/data/default.model" "$work/tokenizer.json"
head -3 "$source/data/sample/docs.jsonl" >"$work/docs.jsonl"
"$rankfeed" compile "$source/data/default.model" -o "$work/sp.rfimg" >/dev/null
"$rankfeed" compile "$work/tokenizer.json" -o "$work/hf.rfimg" >/dev/null
rank() { # RUN...: documents in order, scores to four digits
  "$@" "$rankfeed" rerank --vocab "$work/sp.rfimg" --model "$source/data/reranker" --query "What is a panda?" --docs "$work/docs.jsonl" --json |
    python3 -c 'import json, sys; print([(r["id"], round(r["score"], 4)) for r in json.load(sys.stdin)["results"]])'
}
for cpu in qemu64 Nehalem Haswell-noTSX; do # SSE2, SSE4.2, AVX2; this machine's own is the fourth
  for mode in sp hf; do
    "$rankfeed" encode --special --vocab "$work/$mode.rfimg" "$work/texts.txt" >"$work/here.ids"
    qemu-x86_64 -cpu "$cpu" "$rankfeed" encode --special --vocab "$work/$mode.rfimg" "$work/texts.txt" >"$work/$cpu.ids" 2>"$work/qemu.log" ||
      { echo "$cpu: "; cat "$work/qemu.log"; exit 1; }
    cmp "$work/here.ids" "$work/$cpu.ids"
  done
  echo "$cpu: $(wc -w <"$work/here.ids") ids equal in both modes"
done
[[ $(rank qemu-x86_64 -cpu qemu64 2>/dev/null) == "$(rank)" ]] || { rank qemu-x86_64 -cpu qemu64; rank; exit 1; }
echo "qemu64: documents rank alike"
