#!/usr/bin/env bash
# render_test.sh REPORT_TEST WORK_DIR: draws the report in headless Chromium, light and dark, and looks at the
# page's elements. Skips (77) when no Chromium is installed: it is a large package (apt-get install chromium).
set -euo pipefail
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $browser ]]; then
  echo "not run: no Chromium (apt-get install --no-install-recommends chromium)"
  exit 77
fi
rm -rf "$2" && mkdir -p "$2"
RANKFEED_REPORT_OUT=$2/report.html "$1" >/dev/null
run() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$2" "${@:3}" \
    "file://$1" 2>/dev/null
}
run "$2/report.html" "$2/profile" --dump-dom >"$2/dom.html"
for text in 'data-ready="1"' 'Document tokenization' 'Latency over load' '<polyline' 'Findings' 'Pages of the vocabulary' \
            'Parity' 'Counters while encoding' 'tokenizer cpu bottleneck'; do
  grep -qF "$text" "$2/dom.html" || { echo "FAILED: the drawn page has no $text"; exit 1; }
done
if grep -qE 'NaN|undefined|\[object' <(sed 's/<script.*//' "$2/dom.html"); then
  echo "FAILED: the drawn page shows NaN or undefined"
  exit 1
fi
for width in 390 768 1280; do
  run "$2/report.html" "$2/profile" --window-size=$width,2000 --dump-dom | grep -qF 'data-fits="true"' ||
    { echo "FAILED: the page is wider than $width pixels"; exit 1; }
done
run "$2/report.html" "$2/profile" --window-size=390,5200 --screenshot="$2/narrow.png"
run "$2/report.html" "$2/profile" --window-size=1200,3200 --screenshot="$2/light.png"
run "$2/report.html" "$2/profile" --window-size=1200,3200 --force-dark-mode --screenshot="$2/dark.png"
for image in light dark; do
  (($(stat -c %s "$2/$image.png") > 100000)) || { echo "FAILED: $image.png is almost empty"; exit 1; }
done
cmp -s "$2/light.png" "$2/dark.png" && { echo "FAILED: light and dark look the same"; exit 1; }
echo "drawn: $2/light.png, $2/dark.png"
