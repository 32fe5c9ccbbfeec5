#!/usr/bin/env bash
# check-image.sh IMAGE: run an image the way it is meant to run and see that it keeps what the compose file promises:
# not root, read-only, within 1 GB of memory, healthy, translating, stopping when told, and not larger than it should be.
# CONTAINERS is the program that runs it: docker or podman.
set -euo pipefail
image=$1
containers=${CONTAINERS:-$(command -v docker || command -v podman)}
max_megabytes=${MAX_MEGABYTES:-250} max_seconds=${MAX_SECONDS:-3}
name=ringmt-check-$$
fail() { echo "check-image: $*" >&2; "$containers" logs "$name" >&2 || true; exit 1; }
trap '"$containers" rm -f "$name" >/dev/null 2>&1 || true' EXIT
ask() { python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=5).read().decode())' "$@"; }

bytes=$("$containers" image inspect --format '{{.Size}}' "$image")
(( bytes <= max_megabytes * 1000000 )) || fail "$image has $(( bytes / 1000000 )) MB, at most $max_megabytes are allowed"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
started=$(date +%s%N)
"$containers" run -d --name "$name" --read-only --tmpfs /tmp:size=64m --cap-drop ALL --security-opt no-new-privileges \
  --memory 1g --pids-limit 256 -p "127.0.0.1:$port:8000" -e RINGMT_LOG_FORMAT=json "$image" >/dev/null
until ask "http://127.0.0.1:$port/readyz" >/dev/null 2>&1; do
  [[ $("$containers" inspect --format '{{.State.Running}}' "$name") = true ]] || fail "the server ended"
  (( $(date +%s%N) - started < 60 * 1000000000 )) || fail "not ready after a minute"
  sleep 0.05
done
milliseconds=$(( ($(date +%s%N) - started) / 1000000 ))
inside() { "$containers" exec "$name" python3 -c "$1"; }
# Processor time, in hundredths of a second: a busy machine starts everything late, and that is not the image's fault.
ticks=$(inside 'f = open("/proc/1/stat").read().split(); print(int(f[13]) + int(f[14]))')

[[ $(inside 'import os; print(os.getuid(), os.getgid())') = "10001 10001" ]] || fail "it runs as another user"
inside 'open("/app/written", "w")' 2>/dev/null && fail "its file system can be written to"
inside 'open("/tmp/written", "w")' || fail "/tmp cannot be written to"
"$containers" exec "$name" sh -c true 2>/dev/null && fail "there is a shell in it"
for package in torch locust pytest pip onnx; do
  inside "import $package" 2>/dev/null && fail "it has $package, which no server needs"
done
health=$("$containers" image inspect --format '{{json .Config.Healthcheck.Test}}' "$image" 2>/dev/null ||
  "$containers" image inspect --format '{{json .HealthCheck.Test}}' "$image")
inside "$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])[-1])' "$health")" || fail "the health check fails"
here=$(cd "$(dirname "$0")/.." && pwd)
python3 "$here/.ci/ask.py" "http://127.0.0.1:$port" "$here/README.md" || fail "the README's example is translated otherwise"

"$containers" stop -t 30 "$name" >/dev/null
code=$("$containers" inspect --format '{{.State.ExitCode}}' "$name")
[[ $code = 0 ]] || fail "stopped with $code"
"$containers" logs "$name" 2>&1 | grep -q 'all that was in flight was answered' || fail "it did not drain"
echo "$image: $(( bytes / 1000000 )) MB, ready after $milliseconds ms, of which processor time $(( ticks * 10 )) ms"
(( ticks <= max_seconds * 100 )) || fail "its start takes $(( ticks * 10 )) ms, at most $max_seconds s are allowed"
