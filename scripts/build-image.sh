#!/usr/bin/env bash
# Builds the container image: scripts/build-image.sh IMAGE [LDFLAGS]
#
# The binary is linked statically on this machine and is, with licences and an empty state folder, all that the image
# holds. Building on the host keeps the Go and C++ caches; the Dockerfile has no step that needs the network.
set -euo pipefail
cd "$(dirname "$0")/.."
image=${1:?usage: build-image.sh IMAGE [LDFLAGS]}

docker version >/dev/null 2>&1 || {
  echo "No Docker daemon answers. Start one; scripts/build-kafka-image.sh shows how on a machine that has none." >&2
  exit 1
}

root=dist/image/root
rm -rf dist/image
mkdir -p $root/var/lib/sluice $root/tmp $root/etc

# quiet COMMAND...: shows what it says only if it fails.
quiet() {
  "$@" >dist/image.log 2>&1 || {
    cat dist/image.log >&2
    exit 1
  }
}

# netgo and osusergo: no name service of the C library, which a static binary cannot load. What is not shown are the linker's
# warnings about dlopen, getpwuid and getaddrinfo inside DuckDB: its extension loader and HTTP client, which eval turns off.
quiet go build -trimpath -tags netgo,osusergo -ldflags "${2:--s -w} -linkmode external -extldflags -static" -o $root/processor ./cmd/processor
if ldd $root/processor >/dev/null 2>&1; then
  echo "the binary is not static" >&2
  exit 1
fi
cp LICENSE NOTICES $root/
printf 'sluice:x:65532:65532::/var/lib/sluice:/processor\n' >$root/etc/passwd

# One archive with fixed owners, modes and times: the same sources give the same layer.
tar -C $root --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode='go-w' --exclude=./var/lib/sluice --exclude=./tmp -cf dist/image/root.tar .
tar -C $root --mtime=@0 --owner=65532 --group=65532 --numeric-owner --mode=0750 -rf dist/image/root.tar ./var/lib/sluice
tar -C $root --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=1777 -rf dist/image/root.tar ./tmp
cp deploy/Dockerfile dist/image/
rm -r $root

before=$(docker image inspect -f '{{.Id}}' "$image" 2>/dev/null || true)
quiet docker build -q -t "$image" dist/image
if [ -n "$before" ] && [ "$before" != "$(docker image inspect -f '{{.Id}}' "$image")" ]; then
  docker rmi "$before" >/dev/null 2>&1 || true # the one that had the name; it stays where a container or another name uses it
fi
echo "built $image ($(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB)"
