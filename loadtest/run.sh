#!/usr/bin/env bash
# Start a server, put load on it for SECONDS_OF_LOAD seconds with at most USERS users, write loadtest/report.html.
# SHAPE is steps, spike or soak; without, all users come at once and stay. BIN is where ringmt lies.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-.venv/bin} users=${USERS:-16} seconds=${SECONDS_OF_LOAD:-20}
port=$("$bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Without the cache of translations: every answer is compared with that of an idle server, and must really be made.
"$bin/ringmt" serve --port "$port" --log-level warning --translation-cache-bytes 0 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  "$bin/python" -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/readyz', timeout=5)" 2>/dev/null && break
  kill -0 $server
  sleep 0.2
done
run=(--users "$users" --spawn-rate "$users" --run-time "${seconds}s")
if [ -n "${SHAPE:-}" ]; then
  export LOADTEST_SHAPE=$SHAPE LOADTEST_USERS=$users LOADTEST_SECONDS=$seconds
  run=()
fi
PYTHONPATH=. "$bin/locust" -f loadtest/locustfile.py --host "http://127.0.0.1:$port" --headless --only-summary \
  "${run[@]}" --html loadtest/report.html
