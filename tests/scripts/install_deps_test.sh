#!/usr/bin/env bash
# install_deps_test.sh SOURCE WORK: scripts/install-deps.sh between commands that are played here: it waits for a lock of
# apt's, and only for a lock; it installs what is missing; it says what to do without root; with everything there it does
# nothing.
set -euo pipefail
source=$1 work=$2
((EUID == 0)) || { echo "SKIPPED: not root, and the script installs as root only"; exit 77; }
rm -rf "$work"
mkdir -p "$work/bin"
fail() { echo "$1"; cat "$work/said" "$work/calls" 2>/dev/null; exit 1; }

# dpkg-query: what is in HAVE is installed ("all": everything). apt-get: update fails LOCKED times with WORDS; calls are noted.
cat >"$work/bin/dpkg-query" <<'EOF'
#!/bin/sh
case " $HAVE " in *" all "* | *" $4 "*) echo installed ;; *) exit 1 ;; esac
EOF
cat >"$work/bin/apt-get" <<'EOF'
#!/bin/sh
echo "apt-get $*" >>"$WORK/calls"
case "$*" in update*)
  tries=$(grep -c "apt-get update" "$WORK/calls")
  if [ "$tries" -le "$LOCKED" ]; then echo "E: $WORDS" >&2; exit 100; fi ;;
esac
EOF
cat >"$work/bin/sleep" <<'EOF'
#!/bin/sh
echo "sleep $*" >>"$WORK/calls"
EOF
chmod +x "$work"/bin/*
run() { # HAVE LOCKED WORDS ARGUMENT: output in $work/said, calls in $work/calls
  rm -f "$work/calls"
  touch "$work/calls"
  HAVE=$1 LOCKED=$2 WORDS=$3 WORK=$work PATH="$work/bin:$PATH" bash "$source/scripts/install-deps.sh" "$4" >"$work/said" 2>&1
}
lock="Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"

run all 0 "" build || fail "it fails where everything is installed"
[[ ! -s $work/calls && ! -s $work/said ]] || fail "it does something where everything is installed"

run g++ 3 "$lock" build || fail "it does not outlast a lock"
[[ $(grep -c "^apt-get update" "$work/calls") == 4 && $(grep -c "^sleep" "$work/calls") == 3 ]] || fail "it does not wait for each lock"
[[ $(grep -c "holds apt's lock; waiting" "$work/said") == 3 ]] || fail "it does not say that it waits"
installed=$(grep "install" "$work/calls")
[[ $installed == *"DPkg::Lock::Timeout="* && $installed == *" libicu-dev "* ]] || fail "it does not install, waiting for dpkg's lock"
[[ " $installed " != *" g++ "* ]] || fail "it installs what is there"
[[ $installed != *libgtest-dev* ]] || fail "build installs packages of the tests"

! run g++ 1000 "$lock" build || fail "it waits for ever"
[[ $(grep -c "^sleep" "$work/calls") == 60 ]] || fail "it does not wait ten minutes"
! run g++ 1000 "Temporary failure resolving" build || fail "it goes on without a network"
[[ $(grep -c "^sleep" "$work/calls") == 0 ]] || fail "it waits for a network"
! run all 0 "" nonsense || fail "it takes an unknown word"
grep -q "install-deps.sh build" "$work/said" || fail "it does not say what words there are"
echo "install-deps.sh waits for locks and nothing else"
