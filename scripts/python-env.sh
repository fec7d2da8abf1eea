#!/usr/bin/env bash
# Creates .venv with the wheels of tests/requirements.txt: the HuggingFace reference that the tests
# compare with. A stamp with the checksum of that file makes a second run return at once.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=tests/requirements.txt
stamp=.venv/requirements.sha256
wanted=$(sha256sum <"$requirements")
if [[ -x .venv/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
  exit 0
fi

echo "python-env: installing the wheels of $requirements into .venv"
rm -rf .venv
python3 -m venv .venv
# --no-deps: only the pinned versions, none of what they would draw in for downloading models.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r "$requirements"
.venv/bin/python -c 'import numpy, sentencepiece, tokenizers'
printf '%s\n' "$wanted" >"$stamp"
