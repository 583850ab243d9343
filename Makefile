# `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Without paths of this checkout in programs, all clones and worktrees share Go's build cache.
export GOFLAGS := $(strip -trimpath $(filter-out -trimpath,$(GOFLAGS)))
BIN := $(CURDIR)/.cache/bin
# Arguments for a target's program, for example `make dev ARGS="--listen 127.0.0.1:9000"`.
ARGS ?=
# The packages for test, fuzz and lint, for example `make test PKG=./metering/meter/...`.
PKG ?= ./...
FUZZTIME ?= 30s
# The random seed of test-faults. A run prints its seed; 0 chooses a new one.
SEED ?= 0

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: dev
dev: ## Run everything on this machine: servers, sandbox chains, API, worker (ARGS="--listen … --data …")
	@scripts/bootstrap dev
	@mkdir -p $(BIN)
	@echo "building gateway-dev; the first time takes some minutes" >&2
	@go build -o $(BIN)/gateway-dev ./cmd/gateway-dev
	@exec $(BIN)/gateway-dev $(ARGS)

.PHONY: test
test: ## Lint and test with the race detector, some minutes; leaves out what test-all adds
	@$(MAKE) --no-print-directory prepare
	@$(MAKE) --no-print-directory -j2 LINT_GOFLAGS=-race lint-only test-quick

.PHONY: test-all
test-all: lint test-only ## Lint and every test: also killed processes, whole gateways and slow cases; CI runs it

.PHONY: prepare
prepare:
	@scripts/bootstrap test
	@scripts/bootstrap lint
	@mkdir -p $(BIN)
	@go build -o $(BIN)/with-servers ./internal/devstack/run

# Packages whose tests start whole programs, again and again.
WHOLE := /test/chaos$$|/cmd/gateway$$|/cmd/gateway-dev$$|/internal/sandbox$$
# Servers that all packages share, and a garbage collector that takes memory for time. The linters vet the code.
GO_TEST = GOGC=300 $(BIN)/with-servers -- go test -race -vet=off -timeout 20m

# Three packages at once, because tests wait for servers more than they compute.
.PHONY: test-quick
test-quick:
	@packages=$$(go list $(PKG) | grep -Ev '$(WHOLE)' || true); \
	if [ -z "$$packages" ]; then echo "make test-only PKG=$(PKG) runs these; make test leaves them out" >&2; exit 1; fi; \
	$(GO_TEST) -short -p 3 $(ARGS) $$packages

.PHONY: test-only
test-only: ## Run every test with the race detector (PKG=./metering/meter/... for some)
	@scripts/bootstrap test
	@mkdir -p $(BIN)
	@go build -o $(BIN)/with-servers ./internal/devstack/run
	@$(GO_TEST) $(ARGS) $(PKG)

.PHONY: test-faults
test-faults: ## Kill processes and servers under load, some minutes; the books must balance (SEED=… to repeat)
	@scripts/bootstrap test
	@mkdir -p $(BIN)
	@go build -o $(BIN)/with-servers ./internal/devstack/run
	@$(BIN)/with-servers -- go test -race -count=1 -timeout 20m ./test/chaos -long -seed $(SEED) $(ARGS)

.PHONY: test-rolling
test-rolling: ## Restart servers behind nginx under load, five runs of 100,000 calls: none may be lost
	@scripts/bootstrap test
	@go test -count=1 -timeout 40m -run '^TestRollingRestarts' -v $(ARGS) ./api/http1 -rolling-calls 20000 -rolling-runs 5

.PHONY: test-strays
test-strays: ## Send stray answers during a million calls, some minutes: none may reach another call
	@go test -count=1 -timeout 60m -run '^TestStrayAnswers_NeverReachAnotherCall' -v $(ARGS) ./relay/upstream -stray-calls 1000000 2>&1 | grep -v Unsolicited

.PHONY: e2e
e2e: ## Run stock clients from npm and a browser against gateway-dev (needs Node.js 20)
	@scripts/bootstrap e2e
	@go test -count=1 -timeout 25m -tags e2e ./test/e2e

.PHONY: contracts
contracts: ## Compile the contracts of identity/wallet/, of the sandbox and of the e2e tests (needs Node.js 20)
	@cd test/e2e && npm ci --silent && node contracts/compile.js

.PHONY: viewer
viewer: ## Copy the viewer of /docs from its npm package into the API (needs Node.js 20)
	@cd test/e2e && npm ci --silent && node viewer.js

.PHONY: lint
lint: ## Run the linters, and check that generated code is up to date
	@scripts/bootstrap lint
	@$(MAKE) --no-print-directory lint-only

# With LINT_GOFLAGS=-race the linters load the packages that the tests build as well, instead of building each twice.
.PHONY: lint-only
lint-only: export GOFLAGS := $(strip $(GOFLAGS) $(LINT_GOFLAGS))
lint-only:
	@$(BIN)/golangci-lint run $(PKG)
	@$(BIN)/workflowcheck ./workflows/...
	@$(BIN)/sqlc diff

.PHONY: audit-deps
audit-deps: ## Audit Go modules and npm packages for known vulnerabilities
	@scripts/bootstrap audit
	@scripts/audit-deps

.PHONY: format
format: ## Format the code
	@scripts/bootstrap lint
	@$(BIN)/golangci-lint fmt $(PKG)

.PHONY: generate
generate: ## Generate code: Go from store/queries/*.sql
	@scripts/bootstrap lint
	@$(BIN)/sqlc generate

.PHONY: bench
bench: ## Measure the gateway: against nginx, the meter, memory, a killed upstream (ARGS="--list")
	@scripts/bootstrap bench
	@exec go run ./internal/bench $(ARGS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s)
	@grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9]+' . | while IFS=: read -r file _ target; do \
		name=$${target#func }; \
		echo "$$name in $$(dirname "$$file")"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
	done

.PHONY: build
build: ## Build both programs into bin/
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

.PHONY: check
check: ## What CI runs, in a fresh clone as well
	@bash .ci/run

.PHONY: clean
clean: ## Remove built files; the data of make dev is kept
	@rm -rf bin .cache/bin/with-servers
