#!/usr/bin/env bash
# ffi_test.sh LANGUAGE WORK PYTHON MODEL: WORK is the folder of tests/consumer.
set -euo pipefail
language=$1 work=$2 python=$3 model=$4
here=$(cd "$(dirname "$0")" && pwd)
text="What is a panda?"
lib=$(dirname "$(find "$work/prefix" -name librankfeed_runtime.so.0.1)")
export LD_LIBRARY_PATH=$lib PKG_CONFIG_PATH=$lib/pkgconfig
out=$work/ffi_$language

skip() {
  echo "SKIPPED: $1"
  exit 77
}
same() {
  [[ $1 == "$(<"$work/expected")" ]] || { echo "$language printed '$1', expected '$(<"$work/expected")'"; exit 1; }
  echo "$language: $1"
}

case $language in
ctypes)
  [[ -x $python ]] || python=$(command -v python3) || skip "no Python"
  "$python" "$here/ctypes_test.py" "$lib" "$model" "$work" "$work/prefix/bin/rankfeed"
  ;;
c)
  # shellcheck disable=SC2046
  gcc -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/go_style.c" -o "$out" $(pkg-config --cflags --libs rankfeed)
  "$out" "$work/default.rfimg" >"$out.rows"
  # Each row is what the command line makes of the same pair.
  printf '%s\n' "A panda is a bear." "" "It eats bamboo, and eats, and eats." >"$out.docs"
  "$work/prefix/bin/rankfeed" batch --vocab "$work/default.rfimg" --query "$text" --docs "$out.docs" --max-length 16 \
    --truncation only_second --layout packed --json >"$out.json"
  python3 "$here/same_rows.py" "$out.json" "$out.rows"
  ;;
rust)
  command -v rustc >/dev/null || skip "no rustc"
  rustc --edition 2021 -O "$here/ffi.rs" -L "native=$lib" -o "$out" 2>"$out.log" || { cat "$out.log"; exit 1; }
  same "$("$out" "$work/default.rfimg" "$text")"
  ;;
crate)
  command -v cargo >/dev/null || skip "no cargo"
  crates=$work/crates # cargo writes beside the sources
  rm -rf "$crates"
  cp -r "$here/../../bindings/rust" "$crates"
  (cd "$crates" && export RANKFEED_TEST_MODEL=$model && cargo build --release --offline --examples &&
    cargo test --release --offline --tests) >"$out.log" 2>&1 ||
    { cat "$out.log"; exit 1; }
  grep "test result" "$out.log"
  # The workers' rows are those of `rankfeed batch`.
  documents=("A panda is a bear." "" "It eats bamboo, and eats, and eats.")
  printf '%s\n' "${documents[@]}" >"$out.docs"
  "$crates/target/release/examples/workers" "$work/default.rfimg" 16 "$text" "${documents[@]}" >"$out.rows"
  "$work/prefix/bin/rankfeed" batch --vocab "$work/default.rfimg" --query "$text" --docs "$out.docs" --max-length 16 \
    --truncation longest_first --layout packed --json >"$out.json"
  python3 "$here/same_rows.py" "$out.json" "$out.rows"
  for json in xlmr.tokenizer.json wordpiece/bert-base-uncased/tokenizer.json bpe/qwen/tokenizer.json; do
    json=${RANKFEED_SHARED_DATA:-}/$json
    [[ -e $json ]] || skip "no $json: the crate was not compared with the tokenizers wheel"
    "$python" "$here/rust_crate_test.py" "$crates/target/release/examples/columns" "$json"
  done
  ;;
go)
  command -v go >/dev/null || skip "no go"
  cp "$here/ffi.go" "$work/ffi_main.go"
  CGO_CFLAGS=$(pkg-config --cflags rankfeed) CGO_LDFLAGS=$(pkg-config --libs rankfeed) GOFLAGS=-mod=mod GO111MODULE=off \
    GOCACHE=$work/gocache go build -o "$out" "$work/ffi_main.go"
  same "$("$out" "$work/default.rfimg" "$text")"
  ;;
esac
