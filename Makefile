# Targets of goblin-actor. `make help` lists them.
SHELL    := bash
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
VARIABLE := goblin-actor/internal/cli/program.version
LDFLAGS  := -X $(VARIABLE)=$(VERSION)
# Leaves a debugging page of grpc out, which would make the linker keep 7 MB of unused methods (cmd/goblin-actor/size_test.go).
TAGS     := grpcnotrace
FUZZTIME ?= 30s
BENCH    ?= calls
INTEROP  := tests/interop
CONFORM  := tests/conformance
NPM      := $(shell command -v npm 2>/dev/null)
PYTHON   := $(shell command -v python3 2>/dev/null)
VENVS    := $(patsubst %,$(INTEROP)/python/.venv-%/installed,sdk1 fastmcp3 sdk2)

.DEFAULT_GOAL := help
.PHONY: bridge interop-java interop-rust help build run test race fuzz bench bench-compare bench-report fmt vet lint cross config-keys docs check clean interop conformance matrix screenshots golden soak-tui tui voters sim sim-mutants mutants attacks keyring proxy cluster cluster-interop cluster-rates cluster-partitions cluster-quorum cluster-versions recipes dashboards prose-sample mutation snapshot release reproducible dist dist-try publish-as publish-try image telemetry

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/goblin-actor, stamped with its version
	go build -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/goblin-actor ./cmd/goblin-actor

run: build ## run the gateway with ./goblin.yaml, or with the demo servers if there is no such file
	./bin/goblin-actor serve

tui: build ## run the gateway with its console
	./bin/goblin-actor serve --tui

# The timeout is for one package and only catches hangs: on a busy machine tests/interop takes longer than the default of ten minutes.
# With RACE=true (as in CI; needs a C compiler) the race detector checks the packages in which goroutines share state: those of actors,
# protocol and internal whose code starts goroutines or uses locks or atomics. UNRACED matches their tests that the race detector excludes
# or shortens; these run once more without it. go vet is off then, because CI runs `make vet`. Slow packages start first, so that none of
# them runs alone at the end: ./actors, then all others in reverse order, since the slow ones come late in the alphabet.
SHARING := ^\s*go [a-z]|\.Go\(|sync\.(RW)?Mutex|atomic\.
RACED    = $$( (echo ./actors; grep -rlE --include='*.go' --exclude='*_test.go' '$(SHARING)' actors protocol internal | xargs -n1 dirname | sort -ru | sed 's|^|./|') | awk '!seen[$$0]++')
UNRACED := Guard|Allocations|Memory|TenThousand|Restarts|HalfOpenTLS
test: interop ## run all tests, including those with third-party clients and servers (these need npm and Python)
ifdef RACE
	go test -vet=off -race -timeout 1h $(RACED)
	go test -vet=off -run '$(UNRACED)' ./actors ./protocol/downstream ./protocol/upstream/...
	go test -vet=off -timeout 1h $$(comm -13 <(go list $(RACED) | sort) <(go list ./... | sort) | sort -r)
else
	go test -timeout 1h ./...
endif

race: ## run all Go tests under the race detector, three times
	go test -race -count=3 -timeout 30m ./...

fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -euo pipefail; grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do \
	  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$$file" | cut -c6- | while read -r target; do \
	    echo "fuzz $$(dirname "$$file") $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$(dirname "$$file")" </dev/null; \
	  done; done

bench: build ## run the benchmark BENCH (calls, big, list, idle, cells, cold, …), mostly compared with direct connections and a reverse proxy; report in bench/results
	./bin/goblin-actor bench $(BENCH) --self $(if $(filter cluster fanout faults growth limits,$(BENCH)),,--compare direct,reverse-proxy) --out bench/results/$(BENCH)

REF        ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
TURNS      ?= 4
BENCHFLAGS ?= --duration 4s --rounds 6
bench-compare: build ## run BENCH alternately with the gateway of REF (the last tag) and of this tree, TURNS times each, and print the differences
	@test -n "$(REF)" || { echo "no tag found; run make bench-compare REF=COMMIT"; exit 2; }
	@set -euo pipefail; tree=$$(mktemp -d); trap 'rm -rf "$$tree"' EXIT; \
	git archive "$(REF)" | tar -x -C "$$tree"; \
	(cd "$$tree" && version=$$(git -C "$(CURDIR)" describe --tags --always "$(REF)") && go build -tags "$(TAGS)" -ldflags "-X $(VARIABLE)=$$version -X main.version=$$version" -o "$(CURDIR)/bin/goblin-actor-old" ./cmd/goblin-actor); \
	rm -rf bench/results/compare; \
	for turn in $$(seq $(TURNS)); do \
	  order="old new"; test $$((turn % 2)) = 1 || order="new old"; \
	  for side in $$order; do \
	    gateway=bin/goblin-actor; test $$side = new || gateway=bin/goblin-actor-old; \
	    echo "turn $$turn of $(TURNS): $$side"; \
	    ./bin/goblin-actor bench $(BENCH) --self $(BENCHFLAGS) --gateway $$gateway --out bench/results/compare/$$side/$$turn >/dev/null; \
	  done; done; \
	./bin/goblin-actor bench compare bench/results/compare/old bench/results/compare/new

REPORT ?= docs/bench
bench-report: build ## run every kind of benchmark except telemetry and write the reports to REPORT (docs/bench); takes a quarter of an hour, during which the machine should be idle
	bench/full.sh $(REPORT)

fmt: ## fail if a file is not formatted with gofmt
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "not formatted with gofmt:"; echo "$$files"; exit 1; }

vet: ## run go vet
	go vet ./...

lint: ## run staticcheck, revive and errcheck in the versions pinned in go.mod
	go tool staticcheck ./...
	go tool revive -set_exit_status -config revive.toml ./...
	go tool errcheck -ignoretests -exclude errcheck.txt ./...

dashboards: ## query all panels and fire alerts of contrib in a real Prometheus (needs Debian's prometheus); DRAW=true also redraws their pictures in docs/images
	go test -count=1 -timeout 15m -v ./tests/monitoring -run 'TestLive$$' -prometheus $(if $(DRAW),-draw)

cluster: ## test clusters of gateways behind nginx and haproxy (needs both, or NGINX_PROGRAM and HAPROXY_PROGRAM)
	BALANCERS=all go test -count=1 -v ./tests/cluster

BALANCED ?= "nginx" "haproxy-new -nats"
cluster-interop: interop $(CONFORM)/node_modules/.package-lock.json ## run the interoperability matrix and the official suites through three nodes behind each of BALANCED ("nginx" "haproxy-new -nats"); needs nginx, haproxy and nats-server
	@set -euo pipefail; for balanced in $(BALANCED); do \
	  BALANCERS=all CI=true go test -count=1 -timeout 1h -v ./$(INTEROP) -args -balancer $$balanced; \
	  BALANCERS=all CI=true go test -count=1 -timeout 1h -parallel 4 -v ./$(CONFORM) -run TestConformance -args -balancer $$balanced; \
	done

cluster-rates: ## compare the rate that three nodes admit together in five minutes with one gateway's
	go test -count=1 -v ./tests/cluster -run 'TestRates$$' -rate-time 300s

CUT ?= 5s
cluster-partitions: ## cut the nodes of a cluster off from each other in all ways, each for CUT (5s); needs network namespaces
	BALANCERS=all go test -count=1 -timeout 1h -v ./tests/cluster -run 'TestPartition' -cut-time $(CUT)

cluster-quorum: ## separate the voters of a cluster for a minute, restart all of them at once, and empty the disk of each; needs network namespaces
	BALANCERS=all go test -count=1 -timeout 1h -v ./tests/cluster -run 'TestQuorum' -quorum-time 60s

cluster-versions: ## replace the nodes of a cluster by another version under load, and back, and start a node of a version that does not fit; needs haproxy
	BALANCERS=all go test -count=1 -timeout 1h -v ./tests/cluster -run 'TestRollingUpgrade' -other-versions

recipes: ## run the recipes for clusters in contrib (needs nginx and haproxy), and validate the files for Kubernetes and compose
	BALANCERS=all go test -count=1 -v ./contrib/cluster
	cd contrib/cluster/check && go run . ../kubernetes/goblin-actor.yaml ../compose/compose.yaml

proxy: ## test the gateway behind nginx, which sends requests of several users over shared connections (needs nginx, or NGINX_PROGRAM=path)
	PROXY=nginx go test -count=1 -v ./tests/proxy

# Vets only packages whose files differ between operating systems. The files of all others have already passed `make vet`.
FILES := {{.ImportPath}} {{.GoFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}
cross: ## build everything for darwin and windows, and vet the packages that differ there
	@set -euo pipefail; for os in darwin windows; do \
	  GOOS=$$os go build -tags "$(TAGS)" ./...; \
	  GOOS=$$os go vet -tags "$(TAGS)" $$(comm -13 <(GOOS=linux go list -tags '$(TAGS)' -f '$(FILES)' ./... | sort) <(GOOS=$$os go list -tags '$(TAGS)' -f '$(FILES)' ./... | sort) | cut -d' ' -f1); \
	done

config-keys: ## update docs/config.md and list what a new configuration key still lacks (see CONTRIBUTING.md)
	go generate ./internal/config
	go test ./internal/config ./internal/config/docgen -run 'Key|Page|Schema|Show'

docs: ## regenerate the generated pages
	go generate ./...
	go test ./cmd/goblin-actor -run TestRequirementsTable -update-requirements
	go test ./cmd/goblin-actor -run TestCommandsPage -update-commands
	go test ./actors/backend -run TestTransitionsInTheDocs -update
	go test ./actors/token -run TestPhasesInTheDocs -update
	go test ./tui -run TestKeysInTheDocs -update
	go test ./internal/status -run TestPageOfMetrics -update

screenshots: ## redraw docs/images from the console's screens
	go test ./tui -run TestPictures -update

SECONDS ?= 3600
soak-tui: ## use the console of a gateway with 10 000 tools and 1000 sessions under load, for SECONDS (3600) after a warm-up of 500; memory, goroutines and descriptors must not grow
	go test -count=1 -timeout $$(( $(SECONDS) + 1500 ))s -v ./tui -run TestSoak -soak $(SECONDS)s

FAULTS ?= 10m
voters: ## stop, kill and empty the nodes that keep a cluster's records, in turn and at random for FAULTS (10m), and measure idle nodes
	go test -count=1 -timeout 24h -v ./internal/bus -run 'Voter|StoppedLeader|TestIdle|ExternalCluster' -voters $(FAULTS)

golden: ## rewrite the expected screens of the console; read the diff before you commit
	go test ./tui -update

check: fmt vet lint cross test docs ## run every check that a change must pass; also fails if a generated page was out of date
	git diff --exit-code -- docs

SEED  ?= 1
HOURS ?= 24
sim: ## run stories of the simulator, from SEED on, for HOURS (24) simulated hours; shorten, print and store the first one that fails
	go test -count=1 -timeout 24h -v ./tests/sim -run 'TestSeeds$$' -from $(SEED) -seeds 1 -hours $(HOURS) -shorten 1000

sim-mutants: ## revert bug fixes one at a time and print the seed whose simulated story detects each (takes a quarter of an hour)
	go test -count=1 -timeout 3h -v ./tests/sim -run TestMutants -mutants

mutants: ## break requirements of docs/requirements.md one at a time and check that the test of each fails
	go test -count=1 -timeout 3h -v ./tests/requirements -run TestMutants -mutants

attacks: ## run each attack against the current code and against a build without the protection; prints both results (ATTACK=pattern selects)
	go test -count=1 -timeout 3h -v ./tests/attacks -run 'TestAttacks$$' -attacks -attack '$(or $(ATTACK),*)'

matrix: interop ## run the same conversations between every client and every server; docs/protocol.md has the results
	go test -count=1 -timeout 1h -v -run 'TestMatrix|TestPython' -all ./$(INTEROP)

mutation: ## run gremlins on PKG, such as actors/pool, to find one-line changes that its own tests miss (takes minutes)
	go tool -modfile=tests/tools.mod gremlins unleash --timeout-coefficient 20 --workers 2 ./$(PKG)

prose-sample: ## print 60 comments, 60 strings and 30 paragraphs for review, chosen at random by SEED
	@go test -count=1 ./tests/style -run 'TestSample$$' -sample -seed $(SEED) -v

keyring: ## test the keyring code in a new D-Bus session (needs gnome-keyring and dbus-run-session)
	@command -v gnome-keyring-daemon >/dev/null && command -v dbus-run-session >/dev/null || \
		{ echo "gnome-keyring-daemon and dbus-run-session are required; on Debian, run apt-get install gnome-keyring dbus" >&2; exit 1; }
	dbus-run-session -- sh -c 'echo | HOME=$$(mktemp -d) gnome-keyring-daemon --unlock --components=secrets >/dev/null && \
		go test -count=1 -v ./internal/keyring -run "TestKeyring$$" -keyring'

telemetry: ## build an OpenTelemetry Collector, and find the trace of one call through two servers in its output (takes minutes at first)
	cd tests/collector && go test -count=1 -v .

# Tools for releases. They take minutes to build, so only the targets that need them do.
TOOLS := $(CURDIR)/bin/tools
$(TOOLS)/goreleaser: Makefile
	GOBIN=$(TOOLS) go install github.com/goreleaser/goreleaser/v2@v2.15.1
$(TOOLS)/syft: Makefile
	GOBIN=$(TOOLS) go install github.com/anchore/syft/cmd/syft@v1.57.1

snapshot: $(TOOLS)/goreleaser $(TOOLS)/syft ## build all release files into dist, without an account or a tag
	PATH=$(TOOLS):$$PATH contrib/release/snapshot.sh dist

release: $(TOOLS)/goreleaser $(TOOLS)/syft ## build and sign the release of the current tag, and create a draft (in the hosted CI only; docs/release.md)
	contrib/release/notes.sh "$$(git describe --tags --exact-match)" >bin/notes.md
	PATH=$(TOOLS):$$PATH goreleaser release --clean --release-notes bin/notes.md

MCPB := contrib/mcpb/node_modules/.package-lock.json
dist: snapshot $(MCPB) ## build all release files, and packages for npm, PyPI, desktop clients and the MCP registry, into dist (contrib/README.md)
	python3 contrib/release/dist dist

dist-try: $(MCPB) ## install the packages of make dist offline and with empty caches, and call a tool through npx, uvx and the extension
	contrib/release/try.sh dist

$(MCPB): contrib/mcpb/package-lock.json
	cd contrib/mcpb && npm ci --ignore-scripts --no-progress --loglevel=error
	@touch -c $@

reproducible: $(TOOLS)/goreleaser ## build the release twice, in different directories and at different times, and compare the checksums
	PATH=$(TOOLS):$$PATH contrib/release/reproducible.sh

PUBLISHED ?= bin/published
publish-as: ## copy the module to PUBLISHED (bin/published) under the module path MODULE, such as github.com/you/goblin-actor, and build and test it there
	@test -n "$(MODULE)" || { echo "no module path given; run make publish-as MODULE=github.com/you/goblin-actor"; exit 2; }
	rm -rf bin/published # another directory must be empty: it may be a repository
	go run ./contrib/release/publish $(MODULE) $(PUBLISHED)
	cd $(PUBLISHED) && trap 'rm -rf .git' EXIT && git init --quiet && git add --all --force && go build ./... && go vet ./... && go test -timeout 1h ./... # some tests ask git for the files of the module

publish-try: ## install the program from a copy with another module path, through a directory as module proxy
	go test -count=1 -v ./contrib/release/publish -run 'TestInstall$$' -install

image: ## build the container images for ARCH (default: this machine's) with buildah; BASE is the Debian image to start from
	BASE='$(BASE)' contrib/container/build.sh $(ARCH)

clean: ## remove bin and bench/results
	rm -rf bin bench/results

interop: $(INTEROP)/node_modules/.package-lock.json $(VENVS)

# Installs the pinned npm peers of tests/interop. If npm or the network is missing, the tests that need them are skipped; with CI=true
# make fails instead.
$(INTEROP)/node_modules/.package-lock.json: $(INTEROP)/package.json $(INTEROP)/package-lock.json
ifdef NPM
	cd $(INTEROP) && npm ci --ignore-scripts --no-progress --loglevel=error || { test "$$CI" != true && echo "npm ci failed: the interop tests will be skipped"; }
	@touch -c $@
else
	@test "$$CI" != true && echo "npm not found: the interop tests will be skipped"
endif

# Installs uv, which needs a third of pip's CPU time to install the Python peers.
UV := $(INTEROP)/python/.uv/bin/uv
$(UV): $(INTEROP)/python/uv.txt
ifdef PYTHON
	rm -rf $(INTEROP)/python/.uv && { { python3 -m venv $(INTEROP)/python/.uv && \
	$(INTEROP)/python/.uv/bin/pip install -q --disable-pip-version-check --no-deps --require-hashes -r $< && touch $@; } || \
	{ test "$$CI" != true && echo "uv cannot be installed: the tests with Python peers will be skipped"; }; }
endif

# Installs the pinned Python peers, one environment for each set of compatible versions. If Python or the network is missing, the tests that
# need them are skipped; with CI=true make fails instead.
$(INTEROP)/python/.venv-%/installed: $(INTEROP)/python/%.txt $(UV)
ifdef PYTHON
	rm -rf $(@D) && { { $(UV) venv -q --python python3 --no-python-downloads $(@D) && \
	$(UV) pip install -q --python $(@D)/bin/python --compile-bytecode --no-deps --require-hashes -r $< && touch $@; } || \
	{ test "$$CI" != true && echo "the Python peers cannot be installed: their tests will be skipped"; }; }
else
	@test "$$CI" != true && echo "python3 not found: the tests with Python peers will be skipped"
endif

interop-java: $(INTEROP)/java/classes/Client.class ## test the Java SDK's clients with its servers, directly and through the gateway (needs Java 17 and Maven)
	go test -count=1 -v -run 'TestJava$$' ./$(INTEROP)

# Downloads the pinned jars of the Java peers, checks their hashes and compiles the peers.
$(INTEROP)/java/classes/Client.class: $(INTEROP)/java/pom.xml $(INTEROP)/java/jars.sha256 $(wildcard $(INTEROP)/java/*.java)
	cd $(INTEROP)/java && rm -rf lib classes && \
	mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=lib && \
	sha256sum --quiet -c jars.sha256 && javac -Xlint:none -cp 'lib/*' -d classes *.java

interop-rust: $(INTEROP)/rust/Cargo.lock ## test the Rust SDK's clients with its servers, directly and through the gateway (needs cargo)
	cd $(INTEROP)/rust && cargo build --locked --quiet
	go test -count=1 -timeout 20m -v -run 'TestRust$$' ./$(INTEROP)

# crates.lock is Cargo.lock without each crate's source line. All crates have the same source, which is the one that cargo writes here.
$(INTEROP)/rust/Cargo.lock: $(INTEROP)/rust/crates.lock
	cd $(@D) && rm -f Cargo.lock && { cargo generate-lockfile --quiet && source=$$(grep -m1 '^source = ' Cargo.lock) && \
	sed "s|^checksum = |$$source\n&|" crates.lock >Cargo.lock || { rm -f Cargo.lock; exit 1; }; }

bridge: interop $(CONFORM)/node_modules/.package-lock.json ## run the interoperability matrix and the official suites over stdio --connect, in both eras
	go test -count=1 -timeout 30m ./$(INTEROP) -run 'TestMatrix$$' -only 'over the bridge' -bridge
	go test -count=1 -v ./$(CONFORM) -run TestConformance/run/bridge -bridge

conformance: $(CONFORM)/node_modules/.package-lock.json ## run the official MCP conformance suites and print a table of the results
	go test -count=1 -v ./$(CONFORM)

test: $(CONFORM)/node_modules/.package-lock.json

# Installs the pinned conformance suites, and the Node version that they need. Without npm, the same applies as to tests/interop.
$(CONFORM)/node_modules/.package-lock.json: $(CONFORM)/package.json $(CONFORM)/package-lock.json
ifdef NPM
	cd $(CONFORM) && npm ci --ignore-scripts --no-progress --loglevel=error || { test "$$CI" != true && echo "npm ci failed: the conformance tests will be skipped"; }
	@touch -c $@
else
	@test "$$CI" != true && echo "npm not found: the conformance tests will be skipped"
endif
