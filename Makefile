# The two commands to know: `make run` and `make test`. GNU make 3.81 suffices.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
# The newest tried Python that runs (version managers leave names that do not), one with its venv module if there is.
PYTHON = $(shell for need in 'import ensurepip, venv' ''; do for v in 3.13 3.12 3.11 3; do \
	python$$v -c "$$need" 2>/dev/null && command -v python$$v && exit; done; done)
ARGS ?=
# The checks need a key to read the settings with, and no more.
KEYED := SECRET_KEY=only-for-the-checks-on-this-machine-and-nothing-else-1234567890
# Test processes a processor. More than one, because many tests wait for a clock or for a server that they kill. With
# three, `make test` takes as long as with two, and tests with deadlines fail more often.
PER_PROCESSOR := 2
nightly: PER_PROCESSOR := 3
# Processes that tests start share compiled modules, even if the environment forbids bytecode.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist worksteal -n $${TEST_PROCESSES:-$$(($(PER_PROCESSOR) * $$(getconf _NPROCESSORS_ONLN)))}

.DEFAULT_GOAL := help
.PHONY: help run test programs bundled nightly contract cluster-contract topologies faults foreign cluster check lint quality coverage mutation bench scale tables screenshots lighthouse validity pins messages release format clean distclean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

run: $(VENV)/.run ## Run the whole site on http://127.0.0.1:8000 (ARGS="--port 8001")
	@$(BIN)/python manage.py quickstart $(ARGS)

test: $(VENV)/.dev programs ## Install what the tests need, and run them, but for the nightly ones (ARGS="tests/unit -k home", INSTALL=no)
	@$(PYTEST) -m "not nightly and not release" $(ARGS) || { failed=$$?; [ -n "$$CI" ] && [ $$failed = 1 ] || exit $$failed; \
		echo "These tests failed beside others. Each is run again, alone:"; \
		$(PYTEST) -n 0 --last-failed --last-failed-no-failures none -v -m "not nightly and not release"; }

# The programs of the tests, from Debian's packages, as root or with sudo that asks for no password.
programs: $(VENV)/.dev
	@$(BIN)/python -m tests.support.programs $(INSTALL)

nightly: $(VENV)/.dev programs ## Run every test, the contract tests on every topology, the watch over the event loop, and API clients
	@NIGHTLY=1 STATE_STEPS=12000 SYNDICATE_KILLS=10 SOCKET_ROUNDS=12 ATTACK_INPUTS=1500 $(PYTEST) -o faulthandler_timeout=900
	@NIGHTLY=1 $(MAKE) --no-print-directory topologies
	@$(MAKE) --no-print-directory bundled
	@$(MAKE) --no-print-directory quality
	@$(MAKE) --no-print-directory foreign

contract: $(VENV)/.dev ## Run the contract tests on every topology (ARGS="-k follow")
	@failed=; for topology in $(TOPOLOGIES); do echo "On $$topology:"; \
		$(PYTEST) tests/contract --topology=$$topology $(ARGS) \
			|| failed="$$failed $$topology"; done; \
		[ -z "$$failed" ] || { echo "Failed on$$failed."; exit 1; }
TOPOLOGIES := single embedded shards-hash shards-ring shards-range shards-list sentinel twemproxy cluster

cluster-contract: ## Run the contract tests of repositories and recipes on a cluster, as CI does
	@$(MAKE) --no-print-directory contract TOPOLOGIES=cluster \
		ARGS="-m 'not nightly' $(call ignored,$(COMPOSED) $(SERVED))"

topologies: ## Run all contract tests on a cluster, those of repositories and recipes on the other topologies
	@$(MAKE) --no-print-directory contract TOPOLOGIES=cluster
	@$(MAKE) --no-print-directory contract TOPOLOGIES=embedded \
		ARGS="$(call ignored,$(filter-out site/state_machine maintenance/backup importing/demo,$(COMPOSED)))"
	@$(MAKE) --no-print-directory contract TOPOLOGIES="sentinel twemproxy shards-hash" \
		ARGS="$(call ignored,$(COMPOSED))"
	@$(MAKE) --no-print-directory contract TOPOLOGIES="shards-ring shards-range shards-list" \
		ARGS="$(call ignored,$(COMPOSED) $(SERVED))"
ignored = $(foreach name,$(1),--ignore=tests/contract/$(dir $(name))test_$(notdir $(name)).py)
# Made of repositories and recipes that are tried everywhere; these are tried on single and cluster.
COMPOSED := accounts/commands accounts/django posts/visibility_of_posts audit/audit audit/audit_notifications \
	audit/audit_reactions audit/audit_samples audit/audit_types maintenance/backup maintenance/backup_file \
	importing/demo graph/mutual_follows importing/import_commands importing/import_graph importing/import_posts \
	admin/limits_command notifications/notifications_model admin/admin_pages visibility/rights_matrix \
	site/state_machine posts/threads_of_a_real_chat audit/trim reading/warm_caches
# Services, tried on shards-hash as well; on other shards only the placing differs.
SERVED := reading/boosts_model fanout/deadletters posts/deletion graph/follows_service \
	store/full_store posts/deleted_parents reading/home_model \
	lists/service live/live maintenance/memory admin/meter notifications/pending_notifications posts/publishing \
	reading/markers visibility/rights_model search/search \
	fanout/syndication reactions/withdrawn_boosts

bundled: $(VENV)/.dev ## Run the contract and fault tests on the server that the Python packages bring
	@TEST_SERVER=bundled $(PYTEST) tests/contract tests/faults -m "not nightly" $(ARGS)

faults: $(VENV)/.dev ## Kill processes and servers under load (ARGS="-k sentinel")
	@$(PYTEST) tests/faults $(ARGS)

foreign: $(VENV)/.dev ## Run Mastodon clients against this site (ARGS="toot -k lists", MASTODON_OPENAPI=folder; needs package indexes)
	@$(BIN)/python -m socialsite.translations
	@$(BIN)/python -m tests.foreign $(ARGS)

cluster: $(VENV)/.dev ## Start a topology on loopback until Ctrl-C (TOPOLOGY=sentinel, twemproxy, shards-hash...)
	@$(BIN)/python -m tests.support.topologies $(TOPOLOGY)
TOPOLOGY := cluster

check: lint ## Lint, types, import contracts, templates, system checks, unit tests
	$(PYTEST) tests/unit

lint: $(VENV)/.dev ## All of check but the unit tests
	$(BIN)/python -m socialsite.translations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/djlint --lint --quiet templates
	$(KEYED) $(BIN)/mypy
	$(KEYED) $(BIN)/python manage.py check --fail-level WARNING

quality: $(VENV)/.dev ## Run the contract tests while watching that nothing keeps an event loop waiting
	@$(PYTEST) -p tests.quality.loop_watch -o faulthandler_timeout=900 tests/contract $(ARGS)

coverage: $(VENV)/.dev ## Measure which lines unit, contract and web tests run, into docs/reference/quality.md
	@new=.cache/coverage.$$$$ && mkdir -p $$new && \
		COVERAGE_FILE=$$new/.coverage SCRIPT_USE=$$new/use $(PYTEST) -p tests.quality.script_use \
			tests/unit tests/contract tests/web --cov --cov-context=test --cov-report= $(ARGS) \
		&& rm -rf .cache/coverage && mv $$new .cache/coverage  # its own folder: a run deletes no data of another
	@$(BIN)/python -m tests.quality.coverage_report

mutation: $(VENV)/.dev ## Change recipes and repositories and see that tests fail (after coverage; hours)
	@nice -n 19 $(BIN)/python -m tests.quality.mutation $(ARGS)

bench: $(VENV)/.dev ## Measure all budgets in one run into docs/reference/benchmarks.md and README (ARGS="B5 --quick" prints)
	@$(BIN)/python -m benchmarks $(ARGS)

scale: $(VENV)/.dev ## Fill a cluster with 1,000,000 accounts and measure it, an hour (ARGS="--accounts 100000 --follows 5000000 --posts 500000")
	@$(BIN)/python -m benchmarks.full_scale $(ARGS)

tables: $(VENV)/.dev ## Write the tables of docs/reference that repeat a declaration
	@$(KEYED) $(BIN)/python -m tests.support.generated_tables

screenshots: $(VENV)/.dev ## Take the pictures of docs/images (needs chromium)
	@$(BIN)/python -m tests.support.screenshots

lighthouse: $(VENV)/.dev ## Measure the pages with Lighthouse into docs/reference/lighthouse.md (needs chromium, node)
	@$(BIN)/python -m tests.support.lighthouse

validity: $(VENV)/.dev ## Show every page to the Nu Html Checker (needs java, node)
	@$(BIN)/python -m tests.support.validity

pins: $(VENV)/.dev ## Resolve requirements*.in into requirements*.txt again
	$(BIN)/uv pip compile -q $(ARGS) $(PIN) requirements.in -o requirements.txt
	$(BIN)/uv pip compile -q $(ARGS) $(PIN) -c requirements.txt requirements-postgres.in -o requirements-postgres.txt
	$(BIN)/uv pip compile -q $(ARGS) $(PIN) -c requirements.txt requirements-s3.in -o requirements-s3.txt
	$(BIN)/uv pip compile -q $(ARGS) $(PIN) -c requirements.txt -c requirements-postgres.txt -c requirements-s3.txt \
		requirements-dev.in -o requirements-dev.txt
PIN := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	--no-annotate --custom-compile-command "make pins"

messages: $(VENV)/.dev ## Collect the texts to translate (needs gettext)
	$(KEYED) $(BIN)/python manage.py makemessages --all --no-location --no-wrap --ignore .venv
	$(BIN)/python -m socialsite.translations

release: $(VENV)/.dev programs ## Check translations, run nightly and other servers (SERVERS="/path/to/redis-server ..."), measure
	@$(PYTEST) -m release tests/unit/documents
	@$(MAKE) --no-print-directory nightly
	@for server in $(SERVERS); do TEST_SERVER=$$server $(PYTEST) tests/contract tests/faults -m "not nightly" || exit; done
	@$(MAKE) --no-print-directory bench ARGS=

format: $(VENV)/.dev ## Put code and templates into the house's form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove what tools leave behind
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache staticfiles
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## clean, and remove the environment (never the data)
	rm -rf $(VENV)

# The environment. A stamp is newer than the pins it installed; a failed install leaves none.
$(BIN)/python:
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed (Debian: apt-get install python3 python3-venv)." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv module is missing: apt-get install $$("$(PYTHON)" -c \
		'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.run: requirements.txt $(BIN)/python
	@echo "Installing what the site runs on…"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.run
	@echo "Installing what the tests and checks need…"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements-dev.txt
	@touch $@
