# Two commands do all the set-up: `make demo` (nothing but Python needed) and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SHARED ?= ../shared
VECTORS ?= $(SHARED)/conformance
# CASES=FILE scores one file of cases instead of all of the corpus
CASES  ?=
# tests read the vectors and the corpus there too
export WHYSYNC_SHARED := $(abspath $(SHARED))
# compiled tests are kept for the next run, whatever the shell says: compiling all of them takes 7 seconds
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo demo-web test test-cluster test-argocd test-argocd-full test-render test-alerts test-web test-history test-ci check fix accept docs new-rule bench mutants conformance corpus corpus-mutations coverage changelog clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

# The two environments share one .venv; a stamp is as old as the pyproject.toml it was made from.
$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "whysync needs Python 3.11 or newer; say make PYTHON=python3.12 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing whysync into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.run
	@echo "installing the tools for tests and checks into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Start-up counts: compile now what an editable install would compile on every run.
.PHONY: compiled
compiled: $(VENV)/.run
	@$(BIN)/python -m compileall -q src

demo: compiled ## four failures in the lab and their diagnosis; no cluster needed
	@$(BIN)/python tools/demo.py

$(VENV)/.serve: pyproject.toml $(VENV)/.run
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[serve]'
	@touch $@

demo-web: $(VENV)/.serve compiled ## make demo-web [SPEED=60]: incidents develop live on http://127.0.0.1:8400; no cluster needed
	@$(BIN)/whysync serve --demo $(or $(SPEED),60)

test: $(VENV)/.dev compiled ## all tests that need nothing but Python
	@$(BIN)/python -m pytest -n 2 tests

test-cluster: $(VENV)/.dev compiled ## the model against a real kube-apiserver (needs Go 1.26; builds it once)
	@$(BIN)/python -m tools.real_cluster
	@$(BIN)/python -m pytest suites/cluster

test-argocd: $(VENV)/.dev compiled ## scenarios on a real Argo CD and cluster (needs Go 1.26; builds them once)
	@$(BIN)/python -m tools.real_argocd
	@$(BIN)/python -m pytest -n 2 suites/argocd

test-argocd-full: $(VENV)/.dev compiled ## every scenario that can be played on a real Argo CD (takes an hour)
	@$(BIN)/python -m tools.real_argocd
	@$(BIN)/python -m pytest -n 3 suites/argocd --all-scenarios

test-render: $(VENV)/.dev compiled ## rendering with the real Helm and Kustomize, and fetching from servers on loopback (installs them outside the tree)
	@$(BIN)/python -m whysync.argocd.repo_server.render
	@$(BIN)/python -m pytest suites/render

test-alerts: $(VENV)/.dev compiled ## alerts with the real promtool and Alertmanager (needs Go 1.26; builds them once)
	@$(BIN)/python -m pytest suites/alerts

test-web: $(VENV)/.dev $(VENV)/.serve compiled ## the pages of serve in a real browser (needs Chromium, and npm for axe-core)
	@command -v chromium chromium-browser google-chrome > /dev/null || test -n "$$WHYSYNC_CHROMIUM" || { echo "installing chromium …"; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null; }
	@$(BIN)/python -m pytest suites/web

test-history: $(VENV)/.dev $(VENV)/.serve compiled ## the history of serve in a real PostgreSQL and in SQLite, with processes that are killed (installs Debian's postgresql and sqlite3)
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || { test "$$(id -u)" = 0 || { echo "PostgreSQL is needed: sudo apt-get install postgresql"; exit 2; }; echo "installing postgresql …"; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql > /dev/null; }
	@command -v sqlite3 > /dev/null || { test "$$(id -u)" = 0 || { echo "sqlite3 is needed: sudo apt-get install sqlite3"; exit 2; }; echo "installing sqlite3 …"; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq sqlite3 > /dev/null; }
	@$(BIN)/python -m pytest suites/history

test-ci: $(VENV)/.dev compiled ## hooks with pre-commit (from PyPI, outside the tree), completion in bash, zsh and fish
	@$(BIN)/python -m pytest suites/ci

check: $(VENV)/.dev ## format, lint, types, layers, generated docs, spelling, voice
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tools.docs --check
	@$(BIN)/codespell
	@$(BIN)/python -m tools.voice

fix: $(VENV)/.dev ## format, and fix what the linter can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

accept: $(VENV)/.dev ## rewrite the goldens; read the diff line by line afterwards
	@$(BIN)/python -m pytest -n 2 tests --accept

docs: $(VENV)/.dev ## rewrite the generated docs
	@$(BIN)/python -m tools.docs

new-rule: $(VENV)/.run ## write a rule and two cases: make new-rule NAME=health/what_is_wrong CAUSE=oom FAILURE=OomKilled
	@test -n "$(NAME)" -a -n "$(CAUSE)" || { echo "usage: make new-rule NAME=health/what_is_wrong CAUSE=oom FAILURE=OomKilled [MESSAGE=…], or MECHANISM=BY_HAND"; exit 2; }
	@$(BIN)/python tools/new_rule.py $(NAME) --cause $(CAUSE) $(if $(FAILURE),--failure $(FAILURE)) $(if $(MESSAGE),--message "$(MESSAGE)") $(if $(MECHANISM),--mechanism $(MECHANISM))

bench: $(VENV)/.dev compiled ## make bench [WRITE=1] [LARGE=1]: measure speed, as ratios in one run; write docs/benchmarks.md; also 10,000 apps
	@$(BIN)/python -m benchmarks $(if $(WRITE),--write) $(if $(LARGE),--large)

mutants: $(VENV)/.dev compiled ## make mutants [MODULES="scope …"] [SAMPLE=N] [SEED=WORD]: mutation tests of each rule, or of these modules of rules, proofs and queries (takes minutes)
	@$(BIN)/python -m tools.mutants $(if $(MODULES),$(addprefix --only ,$(MODULES)),rules) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

conformance: $(VENV)/.dev compiled ## make conformance [VECTORS=DIR] [V=1]: against answers of Argo CD and the API server
	@$(BIN)/python -m tests.conformance $(VECTORS) $(if $(V),--verbose)

corpus: $(VENV)/.dev compiled ## make corpus [SHARED=DIR] [CASES=FILE] [V=1]: how often the first finding is right on real cases
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tools.corpus $(SHARED)/corpus $(CASES) $(if $(V),--misses)

corpus-mutations: $(VENV)/.dev compiled ## make corpus-mutations [V=1]: do mangled texts keep their cause (quotes, case, cut off, wrapped)
	@$(BIN)/python -m tools.corpus_mutations $(SHARED)/corpus $(CASES) $(if $(V),--changed)

coverage: $(VENV)/.dev compiled ## line and branch coverage of the tests, with the least covered modules (takes a while)
	@$(BIN)/python -m tools.coverage_report

changelog: $(VENV)/.run ## the entry of a release: make changelog VERSION=x.y.z; with WRITE=1 also write it
	@$(BIN)/python -m tools.changelog $(VERSION) $(if $(WRITE),--write)

clean: ## remove the environment and caches
	@rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
