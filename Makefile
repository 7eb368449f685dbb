# `make demo` and `make test` set everything up by themselves; `make help` lists the rest.

# The first interpreter that is new enough. Override with `make test PYTHON=/path/to/python`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Files go to the workers in the order of tests/conftest.py, the longest first.
PYTEST_ARGS ?= -q -n auto --dist loadfile --no-loadscope-reorder
BENCH_ARGS ?=
RELEASE_ARGS ?=

VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/.ready
RAY_BIN := .venv-ray/$(notdir $(BIN))
RAY_READY := .venv-ray/.ready
LEARN_BIN := .venv-learn/$(notdir $(BIN))
LEARN_READY := .venv-learn/.ready
DOCS_BIN := .venv-docs/$(notdir $(BIN))
DOCS_READY := .venv-docs/.ready
# The folder of the site that the pages are built into: dev, or a release such as 0.2.
DOCS_VERSION ?= dev
DOCS_ARGS ?=

# $(call apt,PACKAGE): install a Debian package where that needs no password; fails elsewhere.
apt = command -v apt-get >/dev/null 2>&1 \
	&& { [ "$$(id -u)" = 0 ] && SUDO= || { sudo -n true 2>/dev/null && SUDO=sudo; }; } \
	&& echo "installing $(1) with apt-get" \
	&& { $$SUDO apt-get update -qq || true; } \
	&& $$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $(1) >/dev/null
# $(call install,BIN,PACKAGES): install packages by uv, in a fifth of the time that pip takes; where that
# cannot be had, by pip.
pip_install = $(1)/python -m pip install -qq --disable-pip-version-check
install = { $(pip_install) uv && $(1)/python -m uv pip install -q --python $(1)/python $(2); } 2>/dev/null \
	|| $(pip_install) $(2)
# $(call stop,SENTENCE): say what is missing and end.
stop = { echo "$(1)" >&2; exit 1; }

check_types = $(BIN)/basedpyright --warnings --pythonpath $(BIN)/python
# $(call pytest,MARKS): the tests, and beside them the types, which keep one core busy for a while.
pytest = $(check_types) & types=$$!; \
	$(BIN)/python -m pytest -m $(1) $(PYTEST_ARGS) || { wait $$types; exit 1; }; \
	wait $$types || $(call stop,basedpyright has errors: see above)

.PHONY: help venv demo test test-all test-gpu test-ray test-learn lint style format bench validation validation-real release-check docs clean compiler chromium fast-dds

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "  make %-13s %s\n", $$1, $$2 }'

demo: $(READY) ## run the best demos; leaves recordings, replay pages and pictures in out/
	@$(BIN)/skidpad demo

test: style compiler chromium fast-dds ## lint and run every test that needs no GPU and is not marked slow
	@$(call pytest,"not gpu and not slow")

test-all: style compiler chromium fast-dds $(DOCS_READY) ## lint and run every test that needs no GPU
	@$(call pytest,"not gpu" --hypothesis-profile=more)
	@$(MAKE) --no-print-directory test-ray
	@$(MAKE) --no-print-directory test-learn

test-gpu: $(READY) ## the tests that need a CUDA device
	@$(BIN)/python -m pytest -m gpu tests/gpu tests/run/interop/test_torch.py

test-ray: $(RAY_READY) ## the tests that need Ray, in an environment of its own (.venv-ray)
	@$(RAY_BIN)/python -m pytest -q tests/study/ray_cluster

test-learn: $(LEARN_READY) ## the tests that need PyTorch and ONNX, in an environment of its own (.venv-learn)
	@$(LEARN_BIN)/python -m pytest -q tests/learn/with_torch

lint: style ## ruff (rules and format) and basedpyright
	@$(check_types)

style: $(READY)
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || $(call stop,the files above are not formatted: run make format)

format: $(READY) ## let ruff format the code and fix what it can
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format --quiet

bench: $(READY) ## measure speed beside the alternatives; options in BENCH_ARGS
	@$(BIN)/skidpad bench $(BENCH_ARGS)

validation: $(READY) ## compare skidpad with theory and other programs; writes docs/validation.md
	@$(BIN)/python tools/make_validation_page.py

validation-real: $(READY) ## fit cars to public recordings in DATA=folder; writes docs/validation_real.md
	@[ -n "$(DATA)" ] || $(call stop,say where the recordings are: make validation-real DATA=folder)
	@$(BIN)/python tools/make_real_validation.py "$(DATA)"

release-check: $(READY) ## build wheel and sdist into dist/, check them, try them in an empty environment
	@$(BIN)/python tools/check_release.py $(RELEASE_ARGS)

docs: $(DOCS_READY) ## build the documentation site into build/site, in an environment of its own (.venv-docs)
	@$(DOCS_BIN)/python tools/build_site.py --version $(DOCS_VERSION) $(DOCS_ARGS)

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .venv-ray .venv-learn .venv-docs .pytest_cache .ruff_cache .hypothesis build dist

venv: $(READY) ## create .venv with the package and its development tools

# What every environment needs of the interpreter.
define check_python
	@[ -n "$(PYTHON)" ] || $(call stop,skidpad needs Python 3.11 or newer: install it or set PYTHON=/path/to/python)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| $(call stop,skidpad needs Python 3.11 or newer and $(PYTHON) is not)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { $(call apt,$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')); } \
		|| $(call stop,$(PYTHON) has no venv module: install it (on Debian and Ubuntu: apt install python3-venv))
endef

$(READY): pyproject.toml
	$(check_python)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing skidpad and its development tools into $(VENV)"
	@$(call install,$(BIN),--editable '.[dev]')
	@touch $@

# Beside commonroad-io, whose protobuf is old, pip would find an old Ray.
$(RAY_READY): pyproject.toml $(READY)
	@$(RAY_BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv-ray
	@echo "installing skidpad with Ray into .venv-ray"
	@$(call install,$(RAY_BIN),--editable '.[ray]' hypothesis pytest pytest-xdist)
	@touch $@

# PyTorch weighs gigabytes, and beside commonroad-io pip would find an old ONNX.
$(LEARN_READY): pyproject.toml $(READY)
	@$(LEARN_BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv-learn
	@echo "installing skidpad with PyTorch into .venv-learn"
	@$(call pip_install,$(LEARN_BIN)) --editable '.[learn,onnx,torch]' stable-baselines3 hypothesis pytest pytest-xdist
	@touch $@

# What builds pages and runs notebooks is no part of what tests need.
$(DOCS_READY): pyproject.toml
	$(check_python)
	@$(DOCS_BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv-docs
	@echo "installing skidpad and what builds its documentation into .venv-docs"
	@$(call install,$(DOCS_BIN),--editable '.[docs]')
	@touch $@

# The parity tests build each program as plain C, and CUDA text as C++, and compare the bits.
compiler:
	@{ command -v gcc && command -v g++; } >/dev/null 2>&1 || { $(call apt,gcc g++ libc6-dev); } \
		|| $(call stop,the parity tests need gcc and g++: install them (on Debian and Ubuntu: apt install g++))

# The pages are tested in a browser; without one those tests say so and are skipped.
chromium:
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome || [ -n "$$SKIDPAD_CHROMIUM" ]; } \
		>/dev/null 2>&1 || { $(call apt,chromium); } \
		|| echo "the pages are not tested: there is no Chromium (on Debian and Ubuntu: apt install chromium)" >&2

# ROS 2 over DDS is tested against Fast DDS; without it those tests say so and are skipped.
fast-dds: compiler
	@echo '#include <fastrtps/utils/IPLocator.h>' | g++ -E -x c++ - >/dev/null 2>&1 || { $(call apt,libfastrtps-dev); } \
		|| echo "DDS is not tested against Fast DDS: it is not installed (on Debian and Ubuntu: apt install libfastrtps-dev)" >&2
