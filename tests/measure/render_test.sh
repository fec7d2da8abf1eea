#!/usr/bin/env bash
# render_test.sh REPORT_TEST WORK_DIR RANKFEED RECEIPT: draws the audit's report, light and dark, and the pages of a receipt and of
# several in headless Chromium, and looks at their elements. Skips (77) when no Chromium is installed: it is a large package (apt-get
# install chromium).
set -euo pipefail
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $browser ]]; then
  echo "not run: no Chromium (apt-get install --no-install-recommends chromium)"
  exit 77
fi
rm -rf "$2" && mkdir -p "$2"
RANKFEED_REPORT_OUT=$2/report.html "$1" >/dev/null
"$3" receipt show "$4" --html "$2/receipt.html" >/dev/null
sed 's/"ids_hash": "[0-9a-f]*"/"ids_hash": "<b>0"/' "$4" >"$2/other.json"
"$3" receipt show "$4" "$2/other.json" "$4" --html "$2/several.html" >/dev/null
work=$2
draw() { # PAGE [OPTIONS...]
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" "${@:2}" \
    "file://$work/$1.html" 2>/dev/null
}
look() { # PAGE TEXTS...: they are in what is drawn, no value is missing, and it is no wider than its window
  draw "$1" --dump-dom >"$work/dom.html"
  for text in 'data-ready="1"' 'Parity' "${@:2}"; do
    grep -qF "$text" "$work/dom.html" || { echo "FAILED: the drawn $1 has no $text"; exit 1; }
  done
  if grep -qE 'NaN|undefined|\[object' <(sed 's/<script.*//' "$work/dom.html"); then
    echo "FAILED: the drawn $1 shows NaN or undefined"
    exit 1
  fi
  for width in 390 768 1280; do
    draw "$1" --window-size=$width,2000 --dump-dom | grep -qF 'data-fits="true"' ||
      { echo "FAILED: the $1 is wider than $width pixels"; exit 1; }
  done
}
one=('Pages of the vocabulary' 'Counters while encoding' 'Document tokenization')
look report '<polyline' 'Findings' 'Latency over load' 'tokenizer cpu bottleneck' "${one[@]}"
look receipt 'An answered query takes' 'Latency of one text' "${one[@]}"
look several '3 receipts, beside receipt.json' '<b>other.json</b>: different ids' 'CPU of a token' '&lt;b&gt;0' 'Batch construction'
[[ $(sed "/<script type/,\$d" "$work/dom.html" | grep -o "<rect" | wc -l) == $((6 * 3 + 5 * 3)) ]] || { echo "FAILED: not a bar for each receipt"; exit 1; }
draw receipt --window-size=390,3200 --screenshot="$work/receipt_narrow.png"
draw receipt --window-size=1280,2400 --screenshot="$work/receipt.png"
draw several --window-size=1280,2100 --screenshot="$work/several.png"
draw report --window-size=390,5200 --screenshot="$work/narrow.png"
draw report --window-size=1200,3200 --screenshot="$work/light.png"
draw report --window-size=1200,3200 --force-dark-mode --screenshot="$work/dark.png"
for image in light dark receipt several; do
  (($(stat -c %s "$work/$image.png") > 100000)) || { echo "FAILED: $image.png is almost empty"; exit 1; }
done
cmp -s "$work/light.png" "$work/dark.png" && { echo "FAILED: light and dark look the same"; exit 1; }
echo "drawn: $work/light.png, $work/dark.png, $work/receipt.png, $work/several.png"
