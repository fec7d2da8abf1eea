#!/bin/sh
# Runs a script with the given interpreter, or says why not and exits with 77 (skipped).
if [ ! -x "$1" ]; then
  echo "SKIPPED: no Python interpreter at $1 (scripts/python-env.sh makes it, with the word long for the environments of the long suite; or set RANKFEED_PYTHON)"
  exit 77
fi
exec "$@"
