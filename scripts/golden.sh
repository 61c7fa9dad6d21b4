#!/usr/bin/env bash
# Evaluates the golden queries of eval/dialect with PySpark and writes what it gives behind them; what is written there by hand
# stays; and what its CSV writer writes. With arguments only these files. Needs Python 3.10 and Java 19 or newer, and on the first run the network, for PySpark.
#   VENV=folder     where PySpark is, or is put (default: bin/golden)
#   JAVA_HOME=...   the Java to use, when it is not the first in PATH
set -euo pipefail
cd "$(dirname "$0")/.."

spark=$(sed -n 's/.*pip install pyspark==\([0-9.]*\).*/\1/p' eval/dialect/testdata/spark/golden.py)
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' || true)
missing=()
[ "${version:-0}" -ge 19 ] || missing+=("java 19 or newer, this is ${version:-none}: older ones write some doubles with too many digits; set JAVA_HOME")
command -v python3 >/dev/null && python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || missing+=("python 3.10 or newer with the module venv")
if [ ${#missing[@]} -gt 0 ]; then
  echo "This machine lacks:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  exit 1
fi

venv=${VENV:-bin/golden}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c "import pyspark, sys; sys.exit(pyspark.__version__ != '$spark')" 2>/dev/null || "$venv/bin/pip" install --quiet "pyspark==$spark"

if [ $# -eq 0 ]; then
  "$venv/bin/python" format/csv/testdata/spark/writer.py
  set -- eval/dialect/testdata/spark/*.txt
fi
exec "$venv/bin/python" eval/dialect/testdata/spark/golden.py "$@"
