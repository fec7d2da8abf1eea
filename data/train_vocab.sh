#!/usr/bin/env bash
# Trains data/default.model anew: downloads the Debian packages named in data/packages.txt, extracts
# their text (extract_corpus.py) and runs spm_train on it. Nothing is installed; about 500 MB are
# downloaded and 2 GB unpacked in a temporary directory, which may be given and is then kept:
#   data/train_vocab.sh [WORK_DIR]
# The corpus depends on the packages' versions, recorded in data/packages.lock; the training depends
# on the corpus, the sentencepiece version and the options below only.
set -euo pipefail
data=$(cd "$(dirname "$0")" && pwd)

if ! command -v spm_train >/dev/null; then
  echo "train_vocab: spm_train is missing; install the Debian package sentencepiece" >&2
  exit 1
fi
if (($# > 0)); then
  mkdir -p "$1"
  work=$(cd "$1" && pwd)
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi

mapfile -t packages <"$data/packages.txt"
mkdir -p "$work/debs" "$work/files"
(cd "$work/debs" && apt-get download -q "${packages[@]}")

: >"$work/packages.lock"
for package in "${packages[@]}"; do
  deb=$(ls -t "$work/debs/${package}"_*.deb | head -n 1)
  printf '%s %s %s\n' "$package" "$(dpkg-deb -f "$deb" Version)" "$(sha256sum "$deb" | cut -d ' ' -f 1)" \
    >>"$work/packages.lock"
  [[ -d $work/files/$package ]] && continue
  mkdir "$work/files/$package"
  dpkg-deb --fsys-tarfile "$deb" |
    tar -x -C "$work/files/$package" --exclude='*.png' --exclude='*.jpg' --exclude='*.ogg' \
      --exclude='*.svg' --exclude='*.wav' --exclude='*.pdf' --exclude='*.pdf.gz'
done

python3 "$data/extract_corpus.py" "$work/files" "$work/corpus.txt"

# Ids in the order of fairseq and XLM-R: <s> 0, <pad> 1, </s> 2, <unk> 3; they need no translation
# between the model and tokenizer.json. The corpus is ordered by checksum, so its first 250,000 lines
# (17 million characters) are a fair and repeatable sample; they keep the training to a few minutes.
# Two threads always: the threads' sums are added in a fixed order, so their number is part of the
# result. So are the file names, which the model records; hence no directory in them.
cd "$work"
spm_train --input=corpus.txt --model_prefix=default \
  --model_type=unigram --vocab_size=32000 --character_coverage=0.9995 \
  --normalization_rule_name=nmt_nfkc \
  --bos_id=0 --pad_id=1 --eos_id=2 --unk_id=3 \
  --input_sentence_size=250000 --shuffle_input_sentence=false --seed_sentencepiece_size=250000 \
  --random_seed=1 --num_threads=2 --train_extremely_large_corpus=false --minloglevel=1

cp default.model packages.lock "$data/"
(cd "$data" && sha256sum default.model packages.lock >SHA256SUMS)
echo "train_vocab: corpus sha256 $(sha256sum <corpus.txt | cut -d ' ' -f 1)"
