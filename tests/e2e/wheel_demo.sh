#!/usr/bin/env bash
# A wheel, installed in an empty environment, passes the demo with the network cut.
set -euo pipefail
project="$(cd "$(dirname "$0")/../.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$work" "$project"
"$work/venv/bin/pip" --disable-pip-version-check install --quiet "$work"/semantic_grounding_index-*.whl
cd "$work"
if unshare --net --map-root-user true 2>/dev/null; then
    cut=(unshare --net --map-root-user)
else
    echo "This machine does not let us cut the network; the demo runs with it." >&2
    cut=()
fi
if [ ${#cut[@]} -gt 0 ] && "${cut[@]}" "$work/venv/bin/python" -c 'import socket; socket.create_connection(("127.0.0.1", 9), 1)' 2>&1 | grep -q refused; then
    echo "The network is not cut." >&2
    exit 1
fi
SGI_CACHE_DIR="$work/cache" "${cut[@]}" "$work/venv/bin/sgi" demo -o "$work/scores.jsonl"
test "$(wc -l < "$work/scores.jsonl")" -eq 500
grep -q '</html>' "$work/scores.html"
"$work/venv/bin/sgi" run "$work/scores.jsonl" -m squad_em --name wheel -q > /dev/null
test "$("$work/venv/bin/sgi" export wheel | wc -l)" -eq 500
"$work/venv/bin/sgi" gate wheel 'squad_em>=0.4' > /dev/null
echo "The wheel scores its sample without a network, and keeps runs."
