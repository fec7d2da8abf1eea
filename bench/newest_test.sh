#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# newest_test.sh SOURCE BENCH_RATIOS BENCH_FORMS: builds the newest SentencePiece and runs one round of some rows: ids of
# 12 languages are compared with both SentencePiece releases, and every form that the first pieces make is timed.
set -euo pipefail
shared=${RANKFEED_SHARED_DATA:?}
if [[ ! -f $shared/xlmr.model ]]; then
  echo "SKIPPED: $shared/xlmr.model is not there"
  exit 77
fi
"$1"/scripts/bench-sentencepiece.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$2" --rounds 1 --rows all_cold --json "$work/ratios.json" | tee "$work/ratios.txt"
grep -q 'sentencepiece x[0-9].*sentencepiece_0.1.97 x[0-9]' "$work/ratios.txt"
python3 "$1/tests/oracle/forms.py" --all "$work/forms" --base "$shared/xlmr.tokenizer.json" --pieces 8000
"$3" --forms "$work/forms" --rounds 1 --rows en_cold --json "$work/forms.json" | tee "$work/forms.txt"
forms=$(python3 "$1/tests/oracle/forms.py" --list | wc -l)
timed=$(grep -c 'MB/s' "$work/forms.txt")
if ((timed != forms)); then
  echo "bench_forms timed $timed of $forms forms"
  exit 1
fi
grep -A1 'slowest form of each row' "$work/forms.txt" | grep -q 'English, cold .* x[0-9]'
