#!/usr/bin/env bash
# docker compose over deploy/compose.yml, with the token that the daemon asks for made on first use (SLUICE_TOKEN names a
# file that has one already).
set -euo pipefail
cd "$(dirname "$0")/../deploy"
if [ -z "${SLUICE_TOKEN:-}" ] && [ ! -s token ]; then
  (umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >token)
  chmod 0444 token # read by two containers' users; the folder is yours
fi
if docker compose version >/dev/null 2>&1; then
  exec docker compose -f compose.yml "$@"
fi
command -v docker-compose >/dev/null || {
  echo "Neither 'docker compose' nor docker-compose is here: apt-get install docker-compose (Debian)" >&2
  exit 127
}
exec docker-compose -f compose.yml "$@"
