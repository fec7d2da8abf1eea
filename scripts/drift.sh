#!/usr/bin/env bash
# Runs the parity suites with every version of the references that tests/oracle/drift.json lists, and with the newest
# and pre-release wheels, each in an environment of its own under build-drift. Prints versions x suites, writes
# docs/drift.md, and fails when a difference is not explained in tests/oracle/drift.json.
#   scripts/drift.sh [--package NAME]... [--keep]   of some packages, after a run of all; with the environments of an earlier run
#   scripts/drift.sh --quick | --version V          fewer texts, or some versions only: writes nothing
#   scripts/drift.sh --judge                        runs nothing: after an explanation was written
# About a quarter of an hour on two quiet cores; sizes are in drift_suites.py, numbers of comparisons in the table.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset dev >/dev/null
cmake --build --preset dev --target rankfeed_test_driver
stream=$(bench/text_streams.py)
exec python3 tests/oracle/drift.py --driver build-dev/tests/support/rankfeed_test_driver \
  --data "${RANKFEED_SHARED_DATA:-../shared/data}" --stream "$stream" "$@"
