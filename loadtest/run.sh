#!/usr/bin/env bash
# Start a server that decodes every sentence, put load on it for SECONDS_OF_LOAD seconds, write loadtest/report.html. BIN is where ringmt lies.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-.venv/bin}
port=$("$bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$bin/ringmt" serve --port "$port" --log-level warning --translation-cache-bytes 0 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  "$bin/python" -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/readyz', timeout=5)" 2>/dev/null && break
  kill -0 $server
  sleep 0.2
done
PYTHONPATH=. "$bin/locust" -f loadtest/locustfile.py --host "http://127.0.0.1:$port" --headless --only-summary \
  --users "${USERS:-16}" --spawn-rate "${USERS:-16}" --run-time "${SECONDS_OF_LOAD:-20}s" --html loadtest/report.html
