#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# torch_test.sh PYTHON SOURCE WORK CROSSENCODER_TEST NUMPY_MODELS: the long test of the forward beside PyTorch. transformers
# saves random models of every kind into WORK, and CROSSENCODER_TEST compares its scores with PyTorch's; then transformers
# reads the files that numpy_models.py wrote and gives the scores that NumPy gave. PYTHON is that of .venv-hf
# (scripts/python-env.sh hf).
set -euo pipefail
python=$1 source=$2 work=$3 program=$4 numpy_models=$5
if [[ ! -x $python ]]; then
  echo "SKIPPED: no Python interpreter at $python (scripts/python-env.sh hf makes it)"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
"$python" -B "$source/tests/gpu_handoff/golden/make_golden.py" "$work" \
  xlmr roberta camembert bert bert_new distilbert distilbert_relu electra electra_wide electra_same modernbert modernbert_mean deberta deberta_far gte
RANKFEED_SOURCE_DIR=$source RANKFEED_MADE_MODELS=$work "$program" --gtest_filter=*EqualsTheReference* | tee "$work/said"
grep -q '1 test ran' "$work/said" || grep -q 'PASSED.* 1 test' "$work/said"
if grep -q SKIPPED "$work/said"; then exit 1; fi
"$python" -B "$source/tests/gpu_handoff/golden/make_golden.py" --check "$numpy_models"
