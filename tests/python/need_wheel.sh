#!/bin/sh
# need_wheel.sh PYTHON CMAKE BUILD WORK: builds the wheel into WORK where it is older than its sources, and imports it.
if [ ! -x "$1" ]; then
  echo "SKIPPED: no Python interpreter at $1 (scripts/python-env.sh makes it; or set RANKFEED_PYTHON)"
  exit 77
fi
set -e
"$2" --build "$3" --target rankfeed_python_wheel
ls -l "$4/wheel"
cd "$4" && PYTHONPATH="$4/site" "$1" -c "import rankfeed; print(rankfeed.__file__)"
