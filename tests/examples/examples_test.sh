#!/usr/bin/env bash
# examples_test.sh WORK PREFIX CMAKE RANKFEED: the programs of examples/, built against an installed rankfeed in the two ways
# of examples/README.md, print what the command line prints: rankings of the sample, and ids. And they say what is wrong.
set -euo pipefail
work=$1 prefix=$2 cmake=$3 rankfeed=$4
source=$(cd "$(dirname "$0")/../.." && pwd)
query=$(<"$source/data/sample/query.txt")
rm -rf "$work"
mkdir -p "$work/model"
cd "$work"

# A model's folder as published ones are: the sample's weights, and a tokenizer.json whose template has their token types.
ln -s "$source"/data/reranker/{config.json,model.safetensors} model/
python3 "$source/data/make_tokenizer_json.py" "$source/data/default.model" tokenizer.json
python3 - "$source/data/sample/docs.jsonl" <<'PY'
import json, sys
data = json.load(open("tokenizer.json", encoding="utf-8"))
for part in data["post_processor"]["pair"][-2:]:
    next(iter(part.values()))["type_id"] = 1
json.dump(data, open("model/tokenizer.json", "w", encoding="utf-8"))
with open(sys.argv[1], encoding="utf-8") as docs, open("passages.txt", "w", encoding="utf-8") as out:
    out.writelines(json.loads(line)["text"].replace("\n", " ") + "\n" for line in docs)
PY
"$rankfeed" compile model -o vocab.rfimg >compile.log
"$rankfeed" rerank --model model --query "$query" --docs passages.txt --threads 1 --json >ranked.json
python3 - <<'PY'
import json
passages = open("passages.txt", encoding="utf-8").read().splitlines()
ranked = [f"{one['score']:.5f} {passages[one['index']]}\n" for one in json.load(open("ranked.json", encoding="utf-8"))["results"]]
assert len(ranked) == len(passages) == 50 and ranked[0].startswith("0.7"), ranked[0]
open("ranked.txt", "w", encoding="utf-8").writelines(ranked)
PY
"$rankfeed" encode --special --vocab vocab.rfimg passages.txt >ids.txt

same() { # NAME FILE PROGRAM ARGUMENTS...
  local name=$1 want=$2
  shift 2
  "$@" <passages.txt >"$name.out" 2>"$name.log" || { echo "$name: exit $?"; cat "$name.log"; exit 1; }
  diff "$want" "$name.out" >"$name.diff" || { echo "$name differs from the command line:"; head -5 "$name.diff"; exit 1; }
  echo "$name: $(wc -l <"$name.out") lines, $(head -1 "$name.out" | cut -c1-40)"
}
refused() { # PROGRAM ARGUMENTS...: status 1, and words
  local status=0
  "$@" <passages.txt >refused.out 2>refused.log || status=$?
  [[ $status == 1 && -s refused.log && ! -s refused.out ]] || { echo "$*: exit $status, '$(<refused.log)'"; exit 1; }
}

"$cmake" -S "$source/examples" -B cmake -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >cmake.log ||
  { cat cmake.log; exit 1; }
"$cmake" --build cmake >>cmake.log || { cat cmake.log; exit 1; }
same scores_c ranked.txt cmake/scores_c vocab.rfimg model "$query"
same scores ranked.txt cmake/scores model "$query"
same pinned_slots_c ranked.txt cmake/pinned_slots_c vocab.rfimg model "$query"
same pinned_slots ranked.txt cmake/pinned_slots model "$query"
for log in pinned_slots_c.log pinned_slots.log; do
  batches=$(cut -d' ' -f1 "$log")
  [[ $batches -ge 4 ]] || { echo "$log: $(<"$log"), so no slot was used twice"; exit 1; }
done
for threads in 1 3; do
  same "thread_pool_c_$threads" ids.txt cmake/thread_pool_c vocab.rfimg "$threads"
  same "thread_pool_$threads" ranked.txt cmake/thread_pool model "$threads" "$query"
done
for program in scores_c pinned_slots_c; do
  refused "cmake/$program" passages.txt model "$query" # no image
  refused "cmake/$program" vocab.rfimg absent "$query"
done
refused cmake/thread_pool_c passages.txt 2
for program in scores pinned_slots "thread_pool 2"; do
  # shellcheck disable=SC2086
  set -- $program
  refused "cmake/$1" absent ${2-} "$query"
done

# Without CMake.
packages=$(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name rankfeed.pc)") pkg-config --cflags --libs rankfeed-crossencoder rankfeed-parallel rankfeed)
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name librankfeed_runtime.so.0.1)")
export LD_LIBRARY_PATH
# shellcheck disable=SC2086
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror "$source/examples/scores.c" -o scores_c $packages
same scores_c_pkgconfig ranked.txt ./scores_c vocab.rfimg model "$query"
for file in thread_pool pinned_slots; do
  gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$prefix/include" "$source/examples/$file.c"
done
