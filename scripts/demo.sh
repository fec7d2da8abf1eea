#!/usr/bin/env bash
# Installs what is missing, builds rankfeed in build/, compiles the default vocabulary into an image
# and ranks the sample: the passages of data/sample for one question, with the reranker of data/reranker,
# which is laid out as a lexical score.
# Arguments are handed to `rankfeed rerank`, for example: scripts/demo.sh --top 3 --json
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh build >&2

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=true # another clone finds the same objects
fi
# Build output goes to stderr, so that `scripts/demo.sh --json > ranked.json` holds the result only.
{
  cmake --preset demo
  cmake --build --preset demo
} >&2

rankfeed=build/bin/rankfeed
image=build/default.rfimg
if [[ ! -s $image || $image -ot data/default.model || $image -ot $rankfeed ]]; then
  "$rankfeed" compile data/default.model -o "$image" >&2
fi
"$rankfeed" rerank --vocab "$image" --model data/reranker --query "$(<data/sample/query.txt)" \
  --docs data/sample/docs.jsonl "$@"
echo "Ranked by a lexical score: the sample model counts the pieces, and pairs of them, that question and passage share (data/README.md)." >&2
