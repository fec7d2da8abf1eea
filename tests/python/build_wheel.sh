#!/bin/sh
# build_wheel.sh PYTHON SOURCE WORK: WORK/wheel/*.whl by `pip wheel`, unpacked into WORK/site. PYTHON's own
# nanobind and scikit-build-core build it where it has them; otherwise pip makes an environment with them, as for users.
if [ ! -x "$1" ]; then
  echo "SKIPPED: no Python interpreter at $1 (scripts/python-env.sh makes it; or set RANKFEED_PYTHON)"
  exit 77
fi
set -e
mkdir -p "$3"
rm -rf "$3/wheel" "$3/site"
isolation=--no-build-isolation
"$1" -c 'import nanobind, scikit_build_core' 2>/dev/null || isolation=
"$1" -m pip wheel --quiet --disable-pip-version-check $isolation --no-deps --wheel-dir "$3/wheel" "$2"
"$1" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$3/site" "$3"/wheel/*.whl
ls -l "$3/wheel"
