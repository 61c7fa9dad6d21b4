#!/usr/bin/env bash
# A small PostgreSQL image of this machine's Debian package, for tests and compose where there is no image registry.
#
#   scripts/build-postgres-image.sh    prints the image's name
#
# It takes the settings of the official image that Sluice's tests and deploy/compose.yml use: POSTGRES_USER,
# POSTGRES_PASSWORD, POSTGRES_DB, and a volume at /var/lib/postgresql/data. Needs a Docker daemon that answers. Settings:
# POSTGRES_IMAGE.
set -euo pipefail

say() { printf '[postgres-image %3ds] %s\n' "$SECONDS" "$*" >&2; }

installed() { compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -1; }

binary=$(installed || true)
if [ -z "$binary" ]; then
  say "installing postgresql"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } </dev/null >&2
  binary=$(installed)
fi
home=${binary%/bin/postgres}
version=${home##*/}
image=${POSTGRES_IMAGE:-sluice/postgres:$version}
if docker image inspect "$image" >/dev/null 2>&1; then
  echo "$image"
  exit
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root"/usr/{bin,sbin,lib,lib64,lib/locale} "$root"/etc "$root"/var/run "$root$home" "$root"/usr/share/postgresql
mkdir -m 1777 "$root"/tmp "$root"/var/run/postgresql
mkdir -p -m 1777 "$root"/var/lib/postgresql/data
for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
printf 'root:x:0:0:root:/root:/bin/bash\npostgres:x:999:999:PostgreSQL:/var/lib/postgresql:/bin/bash\n' >"$root/etc/passwd"

# The server without its just-in-time compiler and other languages, time zones, and one locale.
cp -a "$home/bin" "$home/lib" "$root$home/"
rm -rf "$root$home"/lib/{bitcode,llvmjit*,*plpython*,*plperl*,pgxs,pltcl*}
cp -a "/usr/share/postgresql/$version" "$root/usr/share/postgresql/"
cp -a /usr/share/zoneinfo "$root/usr/share/"
cp -a /usr/lib/locale/C.utf8 "$root/usr/lib/locale/"

# A shell, what the scripts call, and the libraries of all that.
tools=()
for t in bash sh cat sed grep awk sleep mkdir rm ls env date id chmod; do tools+=("$(type -P "$t")"); done
cp -L "${tools[@]}" "$root/usr/bin/"
{ printf '%s\n' "${tools[@]}"; find "$root$home" -type f \( -name '*.so' -o -path '*/bin/*' \); } |
  xargs -n1 ldd 2>/dev/null | sed -nE 's/^[^/]*(\/[^ ]+) \(0x.*/\1/p' | grep -v "^$root" | sort -u |
  while read -r library; do install -D "$library" "$root$library"; done

cat >"$root/usr/bin/docker-entrypoint.sh" <<'F'
#!/bin/bash
set -e
[ "$1" = postgres ] || exec "$@"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -N -U "${POSTGRES_USER:=postgres}" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") --auth-local=trust --auth-host=scram-sha-256 -E UTF8 --locale=C.UTF-8 -D "$PGDATA"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl -w start -o "-c listen_addresses= -c fsync=off"
  [ "${POSTGRES_DB:=$POSTGRES_USER}" = postgres ] || createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -w -m fast stop
fi
exec "$@" -c listen_addresses='*'
F
chmod +x "$root/usr/bin/docker-entrypoint.sh"
tar -C "$root" --owner=0 --group=0 --numeric-owner -c . |
  docker import -c "ENV PATH=$home/bin:/usr/sbin:/usr/bin PGDATA=/var/lib/postgresql/data/pg LANG=C.UTF-8" -c 'USER postgres' -c 'EXPOSE 5432' \
    -c 'ENTRYPOINT ["docker-entrypoint.sh"]' -c 'CMD ["postgres"]' - "$image" >/dev/null
say "built $image ($(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB)"
echo "$image"
