# Sluice. "make" lists what there is; CONTRIBUTING.md says how to work with it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The version is that of the newest section of CHANGELOG.md.
VERSION := $(shell sed -n 's/^\#\# \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -1)
LDFLAGS := -s -w -X main.version=$(VERSION)
IMAGE   ?= sluice/sluice:$(VERSION)

# What "make run" puts into the topic while it runs: records per second.
RATE ?= 200

.PHONY: help build run test race check generate golden bench soak image compose-up compose-down clean tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

tools:
	@scripts/need.sh

build: tools ## build bin/processor
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/processor ./cmd/processor

run: build ## run examples/stock_ticks on an embedded broker, until Ctrl-C (RATE=200 records per second)
	bin/processor run --spec examples/stock_ticks --embedded-broker=127.0.0.1:19092 --seed ticks=data/batch_2.json@$(RATE)

test: tools ## run every test that can run here (REQUIRE_DOCKER=1: fail when those that need Docker cannot)
	@scripts/test.sh

race: tools ## run the tests of the packages without DuckDB under the race detector
	@scripts/test.sh race

check: tools ## format, vet, staticcheck, the rules of the house, generated files
	@scripts/check.sh

generate: ## write the generated parts of docs/ and NOTICES
	go run ./internal/docgen

golden: ## ask PySpark anew what Spark SQL gives (Python 3.10, Java 19 and the network; FILES=... for some of the files)
	@scripts/golden.sh $(FILES)

bench: tools ## measure flows against a plain consume of the same topic, and windows against whole tables
	GOEXPERIMENT=jsonv2 go run ./internal/bench

soak: tools ## run the long versions of the tests: every crash point, all variants (hours); FOR=30m: search new seeds for so long
ifdef FOR
	go test -count=1 -timeout 0 -v -run TestSearch ./internal/proof -for '$(FOR)'
else
	SLUICE_SOAK=1 go test -count=1 -shuffle=on -timeout 12h ./...
endif

image: tools ## build the container image (IMAGE=sluice/sluice:VERSION)
	scripts/build-image.sh '$(IMAGE)' '$(LDFLAGS)'

compose-up: image ## real Kafka, Postgres, Prometheus and the daemon, from deploy/compose.yml
	SLUICE_IMAGE='$(IMAGE)' scripts/compose.sh up -d

compose-down: ## stop them and remove their data
	SLUICE_IMAGE='$(IMAGE)' scripts/compose.sh down -v

clean: ## remove what was built
	rm -rf bin dist
