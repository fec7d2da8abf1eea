#!/usr/bin/env bash
# bare_debian.sh WORK: what a new user does, on a bare machine. Makes a minimal Debian 12 in WORK/root (or takes the
# one there), clones this repository into it, and pastes the README: its first command, then the three programs,
# saved under their names, and the block that builds and runs them. All must print the ids that the command line
# prints. At last the wheel, installed beside sentence-transformers, and the one line in a CrossEncoder (docs/python.md).
# Needs root, debootstrap and the network; 10 to 20 minutes of one core and 12 GB, of which torch's wheels take most.
#   ctest --preset long -R bare_debian
# The host's settings of proxies and of pip, and its certificates, are handed on.
set -euo pipefail
work=${1:?folder}
source=$(cd "$(dirname "$0")/../.." && pwd)
root=$work/root
skip() {
  echo "SKIPPED: $1"
  exit 77
}
((EUID == 0)) || skip "not root"
if [[ ! -x $root/usr/bin/apt-get ]]; then
  command -v debootstrap >/dev/null || skip "no debootstrap"
  mkdir -p "$work"
  mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | awk 'NR == 1')}
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" ${mirror:+"$mirror"} \
    >"$work/debootstrap.log" || { tail "$work/debootstrap.log"; exit 1; }
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
[[ -z ${PIP_CERT-} ]] || { mkdir -p "$root$(dirname "$PIP_CERT")" && cp -L "$PIP_CERT" "$root$PIP_CERT"; }
rm -rf "$root/root/rankfeed"
git clone -q --no-local "$source" "$root/root/rankfeed"

unmount() { umount "$root/dev" "$root/proc"; }
mount --bind /dev "$root/dev"
trap unmount EXIT
mount -t proc proc "$root/proc"
mapfile -t settings < <(env | grep -iE '^((https?|no)_proxy|PIP_[A-Z_]*)=' | grep -v '^PIP_FIND_LINKS=' || true)
inside() { # COMMANDS: a login of root in the clone
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "${settings[@]}" \
    bash -c "cd ~/rankfeed && set -euo pipefail && $1"
}
readme=$root/root/rankfeed/README.md
block() { # LANGUAGE PATTERN: the first block of that language with a line that matches
  awk -v fence="^\`\`\`$1\$" -v pattern="$2" '
    $0 ~ fence { inside = 1; text = ""; next }
    /^```/ { if (inside && text ~ pattern) { printf "%s", text; exit } inside = 0 }
    inside { text = text $0 "\n" }' "$readme"
}

echo "== $(block sh scripts/demo.sh | grep scripts/demo.sh)"
begin=$SECONDS
inside "$(block sh scripts/demo.sh | grep scripts/demo.sh)" >"$work/demo.out" 2>"$work/demo.log" || { tail -40 "$work/demo.log"; exit 1; }
cat "$work/demo.out"
echo "== $((SECONDS - begin)) s"
ranked=$(grep -cE '^ *[0-9]+ +[0-9.]+ ' "$work/demo.out" || true)
documents=$(wc -l <"$root/root/rankfeed/data/sample/docs.jsonl")
grep -q "ranks $documents passages" "$readme" || { echo "README does not say that it ranks $documents passages"; exit 1; }
[[ $ranked -eq $documents ]] || { echo "$ranked lines of a ranking, expected $documents"; exit 1; }

block cpp 'int main' >"$root/root/rankfeed/main.cc"
block c 'int main' >"$root/root/rankfeed/main.c"
block python 'import rankfeed' >"$root/root/rankfeed/main.py"
echo "== the three programs"
begin=$SECONDS
inside "set -x && $(block sh main.cc)" >"$work/programs.out" 2>"$work/programs.log" || { tail -40 "$work/programs.log"; exit 1; }
expected=$(inside "printf 'What is a panda?\\n' | build/bin/rankfeed encode --special --vocab build/default.rfimg")
grep -E '^([0-9]+ *)+$' "$work/programs.out" | sed 's/ *$//' >"$work/ids"
cat "$work/ids"
echo "== $((SECONDS - begin)) s"
[[ $(wc -l <"$work/ids") == 3 ]] || { echo "expected one line of ids from each program"; exit 1; }
while read -r line; do
  [[ $line == "$expected" ]] || { echo "printed '$line', expected '$expected'"; exit 1; }
done <"$work/ids"
echo "C++, C and Python print $expected"

echo "== the wheel, and the line in a CrossEncoder"
begin=$SECONDS
inside "set -x && venv/bin/pip wheel -q --no-deps -w wheels . && python3 -m venv ~/user &&
  ~/user/bin/pip install -q --no-cache-dir --no-compile wheels/rankfeed-*.whl -r tests/requirements-hf.txt &&
  bash tests/readme/cross_encoder.sh ~/user/bin/python ~/rankfeed ~/cross" >"$work/cross.out" 2>"$work/cross.log" ||
  { tail -40 "$work/cross.log"; cat "$work/cross.out"; exit 1; }
cat "$work/cross.out"
[[ $(wc -l <"$work/cross.out") == 10 ]] || { echo "expected a ranking of ten documents"; exit 1; }
echo "== $((SECONDS - begin)) s"
