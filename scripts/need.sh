#!/usr/bin/env bash
# Checks that what a build needs is here, and says how to get what is missing.
set -euo pipefail

missing=()
go_wanted=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$(dirname "$0")/../go.mod")
if ! command -v go >/dev/null; then
  missing+=("go $go_wanted or newer: from https://go.dev/dl, or your system's package if it is new enough")
elif [ "$(printf '%s\n' "$go_wanted" "$(go env GOVERSION | sed 's/^go//')" | sort -V | head -1)" != "$go_wanted" ]; then
  missing+=("go $go_wanted or newer, this is $(go env GOVERSION): from https://go.dev/dl")
fi
if ! command -v "${CXX:-g++}" >/dev/null; then
  missing+=("a C++ compiler, for DuckDB: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora), xcode-select --install (macOS)")
fi
[ ${#missing[@]} -eq 0 ] && exit
echo "This machine lacks:" >&2
printf '  %s\n' "${missing[@]}" >&2
exit 1
