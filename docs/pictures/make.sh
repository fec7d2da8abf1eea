#!/usr/bin/env bash
# make.sh [RANKFEED]: draws docs/pictures/audit.png, the top of the page of `rankfeed audit` on the sample of data, in headless
# Chromium (apt-get install --no-install-recommends chromium), and writes its checksum. RANKFEED: build-release/bin/rankfeed by
# default. RANKFEED_PYTHON has the tokenizers wheel (scripts/python-env.sh).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
rankfeed=${1:-$source/build-release/bin/rankfeed}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no Chromium"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 "$source/data/make_tokenizer_json.py" "$source/data/default.model" tokenizer.json
"$rankfeed" trace make --docs "$source/data/sample/docs.jsonl" --requests 200 --candidates 50 --rate 40 -o trace.jsonl
"$rankfeed" audit --vocab tokenizer.json --trace trace.jsonl --load 1 --threads 2 --gpu-forward-ms 12 --sweep 0.5,2 \
  --price-per-core-hour 0.05 --reference huggingface --html report.html >audit.txt
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir=profile --window-size=1100,850 \
  --screenshot=audit.png "file://$work/report.html" 2>/dev/null
size=$(stat -c %s audit.png)
((size <= 150000)) || { echo "audit.png has $size bytes, more than 150,000"; exit 1; }
cp audit.png "$here/audit.png"
(cd "$here" && sha256sum audit.png >SHA256SUMS)
echo "audit.png: $size bytes"
