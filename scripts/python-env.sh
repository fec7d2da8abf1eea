#!/usr/bin/env bash
# Creates .venv and .venv-sp-0.2.1 with the wheels of tests/requirements.txt and
# tests/requirements-sp-0.2.1.txt, the references that the tests compare with, and .venv-examples with
# those of tests/requirements-examples.txt. A stamp with the checksum of that file makes a second run return at once.
#   scripts/python-env.sh long     .venv-clients and .venv-packages too: clients of the service and readers of packages,
#                                  for the long suite
#   scripts/python-env.sh ray      .venv-ray too, for the long test of pretokenizing on Ray
#   scripts/python-env.sh hf       .venv-hf too, for the long test of wrapped tokenizers in torch's programs
set -euo pipefail
cd "$(dirname "$0")/.."

# make_env FOLDER REQUIREMENTS MODULES [PIP ARGUMENTS...]
# The bytecode of MODULES stays, so that no test compiles them again; pip would compile whole wheels.
make_env() {
  local stamp=$1/requirements.sha256 wanted
  wanted=$(sha256sum <"$2")
  if [[ -x $1/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
    return
  fi
  echo "python-env: installing the wheels of $2 into $1"
  rm -rf "$1"
  python3 -m venv "$1"
  # --no-deps: only the pinned versions, none of what they would draw in for downloading models.
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: \
    "${@:4}" -r "$2"
  env -u PYTHONDONTWRITEBYTECODE "$1/bin/python" -c "import $3"
  printf '%s\n' "$wanted" >"$stamp"
}

make_env .venv tests/requirements.txt "numpy, sentencepiece, tokenizers" --no-deps
make_env .venv-sp-0.2.1 tests/requirements-sp-0.2.1.txt "numpy, sentencepiece" --no-deps
make_env .venv-examples tests/requirements-examples.txt "mypy.api, onnxruntime, pandas, pyarrow, transformers.models.auto"
case ${1-} in
  long)
    make_env .venv-clients tests/requirements-clients.txt "cohere, haystack, infinity_client, langchain_cohere, litellm, openapi_spec_validator"
    make_env .venv-packages tests/requirements-packages.txt "auditwheel, conan, spdx_tools"
    ;;
  ray) make_env .venv-ray tests/requirements-ray.txt "datasets, ray.data" ;;
  hf) make_env .venv-hf tests/requirements-hf.txt "datasets, sentence_transformers, torch" ;;
esac
