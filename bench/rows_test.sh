#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rows_test.sh BENCH_RATIOS: a row that the program does not have ends it with the names of those that it has.
set -uo pipefail
for rows in nothing en_cold,nothing words_nothing ""; do
  said=$("$1" --rows "$rows" 2>&1)
  code=$?
  if ((code != 2)) || [[ $said != *"there is no row"*"; there are en_cold, "*", document_warm, words_xquad-en, "*", words_code" ]]; then
    echo "FAILED: --rows \"$rows\": exit status $code: $said"
    exit 1
  fi
done
