#!/usr/bin/env bash
# Runs the tests and lets go test print the seconds of each package.
#
#   scripts/test.sh         every test that can run here
#   scripts/test.sh race    the packages without DuckDB, under the race detector
#
# Tests against real Kafka and of the container image need Docker. With REQUIRE_DOCKER=1 their absence is a failure; without
# it they are left out where no daemon answers. The images of Kafka and PostgreSQL are public ones where they can be had, else
# they are built here; that of Sluice is built of this tree. SLUICE_KAFKA_IMAGE, SLUICE_POSTGRES_IMAGE and SLUICE_IMAGE name
# others.
set -euo pipefail
cd "$(dirname "$0")/.."

public_image=confluentinc/confluent-local:7.5.0

if [ "${1:-}" = race ]; then
  # A package that comes to DuckDB by any way is left out: its C++ is opaque to the detector, and slow to link.
  packages=$(go list -test -f '{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{else}}{{.ImportPath}} {{join .Deps " "}}{{end}}' ./... |
    awk '{ name = $1; sub(/\.test$/, "", name); if (/duckdb/) bad[name] = 1; seen[name] = 1 }
         END { for (n in seen) if (!(n in bad)) print n }' | sort)
  exec go test -race -shuffle=on -timeout 20m $packages
fi

answers() { docker version >/dev/null 2>&1; }

if [ -z "${SLUICE_KAFKA_IMAGE:-}" ]; then
  if answers && timeout 120 docker pull -q "$public_image" >/dev/null 2>&1; then
    export SLUICE_KAFKA_IMAGE=$public_image
  elif [ "${REQUIRE_DOCKER:-}" = 1 ] || answers; then
    environment=$(scripts/build-kafka-image.sh) # not eval "$(...)" alone: that hides a failure
    eval "$environment"
  fi
fi
if answers; then
  if [ -z "${SLUICE_POSTGRES_IMAGE:-}" ] && [ "$SLUICE_KAFKA_IMAGE" != "$public_image" ]; then
    SLUICE_POSTGRES_IMAGE=$(scripts/build-postgres-image.sh)
    export SLUICE_POSTGRES_IMAGE
  fi
  if [ -z "${SLUICE_IMAGE:-}" ]; then
    export SLUICE_IMAGE=sluice/sluice:test
    scripts/build-image.sh "$SLUICE_IMAGE"
  fi
else
  echo "No Docker daemon answers: the tests that need containers are left out (REQUIRE_DOCKER=1 makes that a failure)."
fi

go test -shuffle=on -timeout 25m ./...
