#!/usr/bin/env bash
# Everything that can be said about the code without running it. Goes on after a failure, so that one run shows all.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=()
step() {
  local name=$1 start=$SECONDS
  shift
  "$@" || failed+=("$name")
  printf '%-16s %3ds\n' "$name" $((SECONDS - start))
}

format() {
  local files
  files=$(gofmt -l $(git ls-files '*.go'))
  [ -z "$files" ] || { printf 'not formatted, run gofmt -w: %s\n' $files; return 1; }
}

shell_scripts() {
  local file
  for file in $(git ls-files '*.sh' .ci/run); do
    bash -n "$file" || return 1
  done
}

step format format
step vet go vet ./...
step staticcheck go tool -modfile=internal/tools/go.mod staticcheck ./...
step house go test -count=1 ./internal/lint
step generated go run ./internal/docgen -check
step scripts shell_scripts

[ ${#failed[@]} -eq 0 ] && exit
echo "failed: ${failed[*]}"
exit 1
