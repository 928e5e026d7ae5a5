#!/usr/bin/env bash
# A wheel in an empty environment: it stays small, passes the demo without a network, and names missing extras.
set -euo pipefail
max_distributions=36  # without SGI itself, pip and setuptools
max_megabytes=290     # without what an empty environment has, bytecode included
project="$(cd "$(dirname "$0")/../.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv "$work/venv"
megabytes() { du -sm "$work/venv" | cut -f 1; }
empty=$(megabytes)
"$work/venv/bin/pip" wheel --no-deps --wheel-dir "$work" "$project"
"$work/venv/bin/pip" install "$work"/semantic_grounding_index-*.whl
distributions=$("$work/venv/bin/pip" list --format freeze --exclude pip --exclude setuptools --exclude semantic-grounding-index | wc -l)
size=$(($(megabytes) - empty))
echo "The base install: $distributions distributions, $size MB."
test "$distributions" -le "$max_distributions"
test "$size" -le "$max_megabytes"
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
test "$(wc -l < "$work/scores.jsonl")" -eq 60
grep -q '</html>' "$work/scores.html"
"$work/venv/bin/sgi" run "$work/scores.jsonl" -m squad_em --name wheel -q > /dev/null
test "$("$work/venv/bin/sgi" runs export wheel | wc -l)" -eq 60
"$work/venv/bin/sgi" gate wheel 'squad_em>=0.3' > /dev/null

# What the base lacks is named before any work.
export SGI_CACHE_DIR="$work/cache"
needs() {
    local extra=$1 message
    shift
    if message=$("$work/venv/bin/sgi" "$@" 2>&1 > /dev/null); then
        echo "sgi $* works without the extra $extra." >&2
        exit 1
    fi
    grep -q "\[$extra\]" <<< "$message" || { echo "sgi $* does not name the extra $extra: $message" >&2; exit 1; }
}
needs images runs plot wheel --kind distribution --out chart.svg
needs web serve
needs judge run "$work/scores.jsonl" --judge openai:any -m faithfulness
needs parquet run "$work/scores.jsonl" -m squad_em --out scores.parquet
needs postgres runs --db postgresql://127.0.0.1:9/none
OPENAI_API_KEY=none needs openai run "$work/scores.jsonl" -m sgi --embedder openai:any
needs torch run "$work/scores.jsonl" -m sgi --embedder torch:any
needs ray run "$work/scores.jsonl" -m squad_em --ray local --out parts
echo "The wheel scores its sample without a network, keeps runs, and names the extras that it lacks."
