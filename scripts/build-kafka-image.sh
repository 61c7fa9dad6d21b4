#!/usr/bin/env bash
# Real Apache Kafka in a container, on a machine that reaches package registries but no image registry.
#
#   out=$(scripts/build-kafka-image.sh) && eval "$out"   make what is missing, set the environment for the tests
#   scripts/build-kafka-image.sh stop                    stop the Docker daemon that this script started
#
# (Not eval "$(...)": that hides a failure.) The broker's jars come from Maven Central, the Java runtime and the few tools
# around it from this machine. The image has the layout of confluentinc/confluent-local, which the Kafka module of
# testcontainers-go expects, and a second entry point, kafka-run, for docker run and compose.
#
# Needs Linux, root where a daemon has to be started, and Debian's package names where something has to be installed. It
# can be run again at any time. Settings: KAFKA_VERSION, KAFKA_IMAGE, SLUICE_DOCKER_DIR (state, default
# /var/tmp/sluice-docker), DOCKER_HOST (a daemon that answers there, or at the default socket, is used as it is).
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # ldconfig, dockerd

kafka_version=${KAFKA_VERSION:-4.4.0}
log4j_version=2.25.5 # of the log4j-core that this Kafka brings
image=${KAFKA_IMAGE:-sluice/kafka:$kafka_version}
state=${SLUICE_DOCKER_DIR:-/var/tmp/sluice-docker}

say() { printf '[kafka-image %3ds] %s\n' "$SECONDS" "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

# need COMMAND PACKAGE: installs the package unless the command is there.
apt_updated=
need() {
  command -v "$1" >/dev/null && return
  say "installing $2"
  if [ -z "$apt_updated" ]; then
    apt-get update -qq >&2
    apt_updated=1
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >"$state/apt.log" 2>&1 ||
    die "apt-get install $2 failed, see $state/apt.log"
}

stop_daemon() {
  local pid
  pid=$(cat "$state/docker.pid" 2>/dev/null || true)
  if [ -z "$pid" ] || [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != dockerd ]; then
    say "no daemon of this script runs"
    return
  fi
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  umount "$state/data" 2>/dev/null || true # left mounted by a dockerd that was killed before
  say "dockerd $pid stopped"
}

# start_daemon leaves a daemon that answers, at DOCKER_HOST where the default one does not.
start_daemon() {
  need docker docker.io
  docker version >/dev/null 2>&1 && return
  export DOCKER_HOST=unix://$state/docker.sock
  docker version >/dev/null 2>&1 && return
  [ "$(id -u)" = 0 ] || die "no Docker daemon answers, and starting one needs root"
  need dockerd docker.io
  say "starting dockerd in $state"
  rm -f "$state/docker.pid" # of a killed daemon: dockerd refuses it when another process has that number now
  # --ip: published ports are bound to the loopback address only. 9>&-: the daemon must not hold this script's lock.
  setsid dockerd --data-root "$state/data" --exec-root "$state/exec" -p "$state/docker.pid" \
    -H "$DOCKER_HOST" --ip 127.0.0.1 </dev/null >"$state/dockerd.log" 2>&1 9>&- &
  for _ in $(seq 300); do
    docker version >/dev/null 2>&1 && break
    sleep 0.1
  done
  docker version >/dev/null 2>&1 || {
    tail -5 "$state/dockerd.log" >&2
    die "dockerd did not start, see $state/dockerd.log"
  }
  docker container prune -f >/dev/null # left by a run that was killed; there is no Ryuk here to do it
}

# fetch_jars DIR: the broker and its dependencies.
fetch_jars() {
  say "Kafka $kafka_version: jars"
  cat >"$build/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluice.test</groupId><artifactId>kafka-image</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$kafka_version</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>$log4j_version</version></dependency>
  </dependencies>
</project>
POM
  mvn -q -B -f "$build/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$1" >"$state/mvn.log" 2>&1 || die "Maven failed, see $state/mvn.log"
}

# make_runtime DIR: a Java runtime with the modules a broker uses. java.desktop is there for log4j's java.beans.
make_runtime() {
  say "Java runtime"
  jlink --strip-java-debug-attributes --no-man-pages --no-header-files --output "$1" --add-modules \
    java.base,java.desktop,java.logging,java.management,java.naming,java.rmi,java.scripting,java.security.jgss,java.security.sasl,java.sql,jdk.crypto.ec,jdk.management,jdk.unsupported,jdk.zipfs
  "$1/bin/java" -Xshare:dump >/dev/null
}

# copy_tools ROOT: a shell, the tools the scripts below and testcontainers' wait strategies call, the libraries of those
# and of the Java runtime, and those that the compression libraries inside the jars load.
copy_tools() {
  local tools=(bash sh cat sed grep awk sleep mkdir rm cp mv ls ln chmod env date id tr head tail od wc sort cut touch kill hostname)
  local paths=() t library
  for t in "${tools[@]}"; do paths+=("$(type -P "$t")"); done
  for t in "${paths[@]}"; do cp -L "$t" "$1/usr/bin/"; done
  {
    { printf '%s\n' "${paths[@]}"; find "$1/opt/jre" -type f \( -name '*.so' -o -name java \); } |
      xargs -n1 ldd 2>/dev/null | sed -nE 's/^[^/]*(\/[^ ]+) \(0x.*/\1/p' | grep -v "^$1"
    ldconfig -p | sed -nE 's/^[[:space:]]*lib(pthread\.so\.0|dl\.so\.2|rt\.so\.1|m\.so\.6) .* => (.*)/\2/p'
  } | sort -u |
    while read -r library; do install -D "$library" "$1$library"; done
}

# write_scripts ROOT: what runs inside the container.
write_scripts() {
  cat >"$1/opt/kafka/log4j2.properties" <<'F'
rootLogger.level = INFO
rootLogger.appenderRef.stdout.ref = STDOUT
appender.stdout.type = Console
appender.stdout.name = STDOUT
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = [%d] %p %m (%c)%n
F
  # The one call of Java. Everything execs, so that SIGTERM reaches it.
  cat >"$1/usr/bin/kafka-java" <<'F'
#!/bin/bash
jars=(/opt/kafka/libs/*.jar); IFS=:
archive=; [ ! -f /opt/kafka/kafka.jsa ] || archive=-XX:SharedArchiveFile=/opt/kafka/kafka.jsa
IFS=' ' read -ra opts <<<"${KAFKA_HEAP_OPTS:--Xms256m -Xmx512m} ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1} $archive ${KAFKA_OPTS:-}"
exec /opt/jre/bin/java "${opts[@]}" -Dlog4j2.configurationFile=/opt/kafka/log4j2.properties -cp "${jars[*]}" "$@"
F
  # testcontainers calls `kafka-storage random-uuid` (here without a JVM) and `kafka-storage format ...`.
  cat >"$1/usr/bin/kafka-storage" <<'F'
#!/bin/bash
if [ "${1:-}" = random-uuid ]; then
  a=({A..Z} {a..z} {0..9}); u=; for _ in {1..21}; do u+=${a[RANDOM % 62]}; done; echo "${u}A"; exit
fi
[ ! -f "${KAFKA_LOG_DIRS:-/var/lib/kafka/data}/meta.properties" ] || exit 0 # formatted: this is a restart
KAFKA_OPTS= exec kafka-java kafka.tools.StorageTool "$@"
F
  echo 'set -e' >"$1/etc/confluent/docker/bash-config"
  # Confluent's rule: KAFKA_FOO_BAR is foo.bar, two underscores are one, three are a dash.
  cat >"$1/etc/confluent/docker/configure" <<'F'
#!/bin/bash
set -e
{
  echo "log.dirs=${KAFKA_LOG_DIRS:-/var/lib/kafka/data}"
  while IFS= read -r -d '' kv; do
    k=${kv%%=*}; v=${kv#*=}
    case $k in KAFKA_HEAP_OPTS|KAFKA_OPTS|KAFKA_JVM_PERFORMANCE_OPTS|KAFKA_REST_*|KAFKA_ZOOKEEPER_*|KAFKA_LOG_DIRS) continue ;; KAFKA_*) ;; *) continue ;; esac
    k=${k#KAFKA_}; k=${k,,}; k=${k//___/-}; k=${k//__/%}; k=${k//_/.}; k=${k//%/_}
    printf '%s=%s\n' "$k" "${v//$'\n'/\\n}"
  done < <(env -0)
} >/etc/kafka/kafka.properties
F
  printf '#!/bin/bash\nexec kafka-java kafka.Kafka /etc/kafka/kafka.properties\n' >"$1/etc/confluent/docker/launch"
  cat >"$1/usr/bin/kafka-run" <<'F'
#!/bin/bash
set -e
/etc/confluent/docker/configure
kafka-storage format -t "${CLUSTER_ID:-$(kafka-storage random-uuid)}" -c /etc/kafka/kafka.properties
exec /etc/confluent/docker/launch
F
  chmod +x "$1"/usr/bin/kafka-* "$1"/etc/confluent/docker/*
}

# archive_classes BASE: starts and stops the broker once, so that its classes are in an archive the JVM maps: the image
# starts in 2-3 s with it and in 6-8 s without. Prints the container.
archive_classes() {
  local c
  c=$(docker create -e KAFKA_NODE_ID=1 -e KAFKA_PROCESS_ROLES=broker,controller -e KAFKA_CONTROLLER_LISTENER_NAMES=C \
    -e KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094 -e KAFKA_LISTENERS=PLAINTEXT://localhost:9093,C://localhost:9094 \
    -e KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,C:PLAINTEXT --network none --hostname localhost \
    --entrypoint bash "$1" -ec '
      KAFKA_OPTS=-XX:ArchiveClassesAtExit=/opt/kafka/kafka.jsa kafka-run >/tmp/log 2>&1 & p=$!
      for i in {1..600}; do ! grep -q "Transitioning from RECOVERY to RUNNING" /tmp/log || break; sleep 0.1; done
      kill $p; wait $p || true
      [ "$i" -lt 600 ] && [ -s /opt/kafka/kafka.jsa ] || { tail -20 /tmp/log; exit 1; }
      rm -rf /var/lib/kafka/data /tmp/* /etc/kafka/kafka.properties; mkdir /var/lib/kafka/data')
  docker start -a "$c" >"$state/trial.log" 2>&1 || {
    tail -20 "$state/trial.log" >&2
    docker rm -f "$c" >/dev/null
    die "the broker did not start, see $state/trial.log"
  }
  echo "$c"
}

build_image() {
  need jlink openjdk-17-jdk-headless
  need mvn maven
  build=$(mktemp -d "$state/build.XXXXXX")
  trap 'rm -rf "$build"' EXIT
  local root=$build/root container d
  mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/etc/{kafka,confluent/docker} "$root"/opt/kafka "$root"/var/lib/kafka/data "$root"/root
  mkdir -m 1777 "$root/tmp"
  for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
  echo 'root:x:0:0:root:/root:/bin/bash' >"$root/etc/passwd"
  fetch_jars "$root/opt/kafka/libs"
  make_runtime "$root/opt/jre"
  say "root file system"
  copy_tools "$root"
  write_scripts "$root"
  tar -C "$root" --owner=0 --group=0 --numeric-owner -c . |
    docker import -c 'ENV PATH=/usr/sbin:/usr/bin:/opt/jre/bin' - "$image-base" >/dev/null
  say "class data archive"
  container=$(archive_classes "$image-base")
  docker export "$container" | docker import -c 'ENV PATH=/usr/sbin:/usr/bin:/opt/jre/bin' \
    -c 'ENTRYPOINT ["kafka-run"]' -c "LABEL org.apache.kafka.version=$kafka_version" - "$image" >/dev/null
  docker rm "$container" >/dev/null
  docker rmi "$image-base" >/dev/null
  say "built $image ($(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB)"
}

mkdir -p "$state"
case ${1:-} in
'') ;;
stop)
  stop_daemon
  exit
  ;;
*) die "usage: $0 [stop]" ;;
esac
exec 9>"$state/lock"
flock 9 # one run at a time
start_daemon
docker image inspect "$image" >/dev/null 2>&1 || build_image
say "ready: $image"
[ -z "${DOCKER_HOST:-}" ] || echo "export DOCKER_HOST=$DOCKER_HOST"
# Ryuk, which removes the containers of a test that was killed, is an image of its own: it is not to be had here.
echo "export TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1 SLUICE_KAFKA_IMAGE=$image"
