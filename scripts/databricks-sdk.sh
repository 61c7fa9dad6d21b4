#!/usr/bin/env bash
# Prints the path of a Python that has the official Databricks client, with which tests ask the daemon's REST API. Makes it at the first call, which
# needs the network.
#   VENV=folder     where it is, or is put (default: bin/sdk)
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.162.0
venv=${VENV:-$PWD/bin/sdk}
has() { "$venv/bin/python" -c "from databricks.sdk import version; import sys; sys.exit(version.__version__ != '$version')" 2>/dev/null; }
if ! has; then
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 15 "databricks-sdk==$version" >&2
  has
fi
echo "$venv/bin/python"
