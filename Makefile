# ShoalDB: make demo shows it, make test proves it, make run serves ./warehouse.
GO     ?= go
TAGS   := gms_pure_go
BIN    := bin/shoal
LISTEN ?= 127.0.0.1:3306
export CGO_ENABLED = 1

.PHONY: build run demo test test-race lint fmt clean tools

build: tools
	$(GO) build -tags $(TAGS) -o $(BIN) ./cmd/shoal

run: build
	./$(BIN) serve --warehouse ./warehouse --listen $(LISTEN)

demo: build
	./$(BIN) demo

test: tools
	$(GO) vet -tags $(TAGS) ./...
	$(GO) test -tags $(TAGS) ./...
	@[ -n "$$SHOAL_FIXTURES" ] || ls -d ../*/fixtures/tables >/dev/null 2>&1 || \
		echo "Skipped: the tests on tables that Hudi wrote and on public files; no fixtures in \$$SHOAL_FIXTURES or ../*/fixtures."

test-race: tools
	$(GO) test -race -tags $(TAGS) ./...

lint: tools
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet -tags $(TAGS) ./...
	$(GO) tool staticcheck -tags $(TAGS) ./...

fmt:
	gofmt -w .

clean:
	rm -rf bin

# The two things a build needs, said plainly where one is missing.
tools:
	@command -v $(GO) >/dev/null 2>&1 || { echo "Go is not installed: ShoalDB needs Go 1.26 or newer (https://go.dev/dl, or your package manager: apt install golang, brew install go)."; exit 1; }
	@command -v gcc >/dev/null 2>&1 || command -v cc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 || { echo "A C compiler is not installed: the sqlite catalog needs one (apt install gcc, dnf install gcc, or xcode-select --install)."; exit 1; }
