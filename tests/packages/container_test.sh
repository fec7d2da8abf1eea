#!/usr/bin/env bash
# container_test.sh SOURCE WORK: builds the image of packaging/Containerfile with Debian's buildah, from the last commit, and runs what the
# image runs: the service answers a request as the program inside ranks. No registry is asked: the image that the file begins with
# stands in buildah's storage under its name, made by debootstrap (in WORK/root, which is kept). Needs root and Debian's servers;
# compiles the program once, and takes 4 GB.
set -euo pipefail
source=$1 work=$2
skip() {
  echo "SKIPPED: $1; packaging/Containerfile was not built"
  exit 77
}
((EUID == 0)) || skip "not root"
for tool in buildah debootstrap crun; do command -v $tool >/dev/null || skip "no $tool (Debian's package of that name)"; done
mkdir -p "$work"
root=$work/root
if [[ ! -e $root/made ]]; then
  rm -rf "$root"
  mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | awk 'NR == 1')}
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" ${mirror:+"$mirror"} >"$work/debootstrap.log" ||
    { tail "$work/debootstrap.log"; exit 1; }
  touch "$root/made"
fi

# A storage of its own: images that somebody has under these names stay as they are.
export BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$work/storage" --runroot "$work/run" "$@"; }
clean() {
  [[ -z ${service-} ]] || { kill -- "-$service" && wait "$service"; } 2>/dev/null || true
  buildah rm --all >/dev/null 2>&1 || true
  buildah rmi --all --force >/dev/null 2>&1 || true
}
trap clean EXIT
base=$(buildah from scratch)
buildah copy -q "$base" "$root" / >/dev/null
for name in $(sed -n 's/^FROM \([^ ]*\).*/\1/p' "$source/packaging/Containerfile"); do
  buildah commit -q "$base" "docker.io/library/$name" >/dev/null
done
buildah rm "$base" >/dev/null

rm -rf "$work/source" "$work/models"
git -C "$source" archive --prefix=source/ HEAD | tar -x -C "$work"
begin=$SECONDS
buildah bud --pull-never -q -f "$work/source/packaging/Containerfile" -t rankfeed "$work/source" >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log"; exit 1; }
echo "image built in $((SECONDS - begin)) s"

container=$(buildah from --pull-never rankfeed)
mkdir -p "$work/models"
cp -r "$source/data/reranker" "$work/models/reranker"
chmod -R a+rX "$work/models"
inside() { buildah run --user "${user:-root}" -v "$work/models:/models" "$container" -- "$@"; }
cp "$source/data/default.model" "$work/models/"
inside rankfeed compile /models/default.model -o /models/vocab.rfimg >/dev/null
printf 'A panda is a bear.\nBerlin is a city.\n' >"$work/models/docs.txt"
inside rankfeed rerank --vocab /models/vocab.rfimg --model /models/reranker --query 'What is a panda?' --docs /models/docs.txt --json >"$work/ranked.json"

# What the image starts, at ports that are free, as the user that it names.
mapfile -t command < <(buildah inspect --format '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' "$container" |
  sed '/^$/d; s/^808[01]$/0/; s/^0\.0\.0\.0$/127.0.0.1/')
user=$(buildah inspect --format '{{.OCIv1.Config.User}}' "$container")
[[ $user == 65534:65534 && ${command[*]} == *" serve "* ]] || { echo "the image starts '${command[*]}' as '$user'"; exit 1; }
set -m # a group of its own: what buildah starts does not end with it
inside "${command[@]}" >"$work/service.log" 2>&1 &
service=$!
set +m
python3 - "$work" <<'PY' || { cat "$work/service.log"; exit 1; }
import json
import pathlib
import re
import struct
import sys
import time
import urllib.request



def single(score):  # the float that both print, with more digits or fewer
    return struct.unpack("f", struct.pack("f", score))[0]


work = pathlib.Path(sys.argv[1])
for _ in range(600):
    ports = re.findall(r":(\d+)$", (work / "service.log").read_text(encoding="utf-8"), re.M)
    if ports:
        break
    time.sleep(0.1)
else:
    sys.exit("the service does not say its port")
body = json.dumps({"query": "What is a panda?", "texts": (work / "models" / "docs.txt").read_text(encoding="utf-8").splitlines()}).encode()
request = urllib.request.Request(f"http://127.0.0.1:{ports[0]}/rerank", body, {"Content-Type": "application/json"})
with urllib.request.urlopen(request, timeout=60) as answer:
    got = [(place["index"], single(place["score"])) for place in json.load(answer)]
want = [(place["index"], single(place["score"])) for place in json.loads((work / "ranked.json").read_text(encoding="utf-8"))["results"]]
if got != want:
    sys.exit(f"the service answers {got}, the program ranks {want}")
print(f"the image's service ranks as its program: {got}")
PY
