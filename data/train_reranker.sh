#!/usr/bin/env bash
# Makes data/reranker anew: downloads the Debian packages named below, extracts question-passage pairs
# (reranker_pairs.py) and runs train_reranker.py on them, which needs a Python with torch, transformers
# and sentencepiece:
#   PYTHON=venv/bin/python data/train_reranker.sh [WORK_DIR] [--steps N]
# Without --steps the run of the committed model. About 120 MB of downloads, 500 MB unpacked, ten
# minutes on a free core.
set -euo pipefail
data=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
(($# > 0)) && shift
packages=(debian-handbook dict-gcide dict-wn evolution-common gnome-user-docs installation-guide-amd64
  libreoffice-help-{de,el,en-us,es,hi,ru,tr,vi,zh-cn} manpages)

mkdir -p "$work/debs" "$work/files"
(cd "$work/debs" && apt-get download -q "${packages[@]}")
for package in "${packages[@]}"; do
  [[ -d $work/files/$package ]] && continue
  mkdir "$work/files/$package"
  dpkg-deb --fsys-tarfile "$(ls -t "$work/debs/${package}"_*.deb | head -n 1)" |
    tar -x -C "$work/files/$package" --exclude='*.png' --exclude='*.jpg' --exclude='*.ogg' --exclude='*.svg' \
      --exclude='*.pdf'
done
python3 "$data/reranker_pairs.py" "$work/files" "$work/pairs.jsonl"
"${PYTHON:-python3}" "$data/train_reranker.py" "$work/pairs.jsonl" "$data/reranker" "$@"
