# Two commands matter to a newcomer: `make run` and `make test`. Everything else is for those who change taproom.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
export PATH := $(CURDIR)/build/toolchain/bin:$(PATH)
export GOTOOLCHAIN ?= auto
export GOFLAGS += -buildvcs=false
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS     := -s -w -X taproom/internal/version.Version=$(VERSION)
HOST_CMDS   := taproom taproomd taproom-launch taproom-vnet
# The events of a target's tests go to build/tests, where the lanes find the slowest of them.
GOTESTSUM   := build/gotestsum
GO_TEST      = $(GOTESTSUM) --format standard-verbose --jsonfile build/tests/$@.json -- -count=1

.PHONY: run test long soak build check lint race fuzz clients clients-new nics shape desktop guest-debian lab fresh appliance appliance-long appliance-libvirt appliance-twice crash cycles bench bench-counters counters-seal counters-twice bench-peers bench-ab report-check promises fmt setup-build setup-run setup-test setup-race setup-desktop setup-guest setup-lab setup-fresh setup-appliance setup-report clean

run: setup-run build ## install what is missing, build, run the two documents of examples/ from end to end
	bin/taproom demo

test: setup-test build $(GOTESTSUM) ## install what the tests need, run all of them
	TAPROOM_BIN=$(CURDIR)/bin go run -C tools ./lane test -repo $(CURDIR) -gotestsum $(CURDIR)/$(GOTESTSUM)

# Each target of the long lane with the minutes that it takes on two cores.
LONG   := clients-new:8 nics:8 desktop:4 guest-debian:6 lab:22 fuzz:8 counters-twice:4 cycles:25
BUDGET ?= 0
long: setup-build ## the longer targets one after another; none of them ends the run, and the last lines say which failed. BUDGET=40m is a limit
	go run -C tools ./lane long -repo $(CURDIR) -budget $(BUDGET) -rotate $$(git rev-parse HEAD) $(LONG)

soak: setup-test build ## the tests that differ from revision BASE 20 times, those with QEMU 5 times, while all processors are busy
	TAPROOM_BIN=$(CURDIR)/bin go run -C tools ./lane soak -repo $(CURDIR) -base $(BASE)

build: setup-build ## put the programs in bin/
	mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ $(HOST_CMDS:%=./cmd/%)
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/taproom-agent ./cmd/taproom-init

$(GOTESTSUM): tools/go.mod | setup-build
	mkdir -p build/tests
	go build -C tools -o $(CURDIR)/$@ gotest.tools/gotestsum

check: setup-run lint ## what the repo promises of itself: layers, sizes, documentation, promises
	go test -C tools ./...
	go run -C tools ./repocheck $(CURDIR)

fmt: setup-build ## format the Go code with the pinned formatter
	go build -C tools -o $(CURDIR)/build/gofumpt mvdan.cc/gofumpt
	build/gofumpt -w cmd disk examples internal tools

lint: setup-build ## the pinned formatter and linters
	go build -C tools -o $(CURDIR)/build/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	go build -C tools -o $(CURDIR)/build/gofumpt mvdan.cc/gofumpt
	test -z "$$(build/gofumpt -l cmd disk examples internal tools)" || { build/gofumpt -d cmd disk examples internal tools | head -50; exit 1; }
	build/golangci-lint run ./...
	cd tools && ../build/golangci-lint run ./...

race: setup-race setup-test build ## the tests again under the race detector
	TAPROOM_BIN=$(CURDIR)/bin go test -race -timeout 40m ./...

crash: setup-test build ## the daemon is killed at every call, and 1000 times at random (the tests: 200 times); everything is started again after each
	TAPROOM_LONG=1 TAPROOM_BIN=$(CURDIR)/bin go test -count=1 -timeout 60m ./internal/daemon/crashtest

cycles: setup-test build $(GOTESTSUM) ## a network is started and stopped 10000 times, and the process that serves it killed 1000 times: nothing adds up. TAPROOM_ROUNDS=1000 is another number
	TAPROOM_LONG=1 TAPROOM_BIN=$(CURDIR)/bin $(GO_TEST) -timeout 60m ./internal/daemon/cycletest

clients: setup-test build $(GOTESTSUM) ## the distribution's clients alone
	TAPROOM_BIN=$(CURDIR)/bin $(GO_TEST) ./internal/daemon/clienttest ./internal/daemon/crowdtest ./internal/api/server

nics: setup-test build $(GOTESTSUM) ## a guest for each model of NICs, with one on every attachment, and guests with up to 82: addresses, and traffic both ways
	TAPROOM_NICS=1 TAPROOM_BIN=$(CURDIR)/bin $(GO_TEST) -timeout 30m ./internal/daemon/nictest

shape: setup-test build ## bandwidth limits by what guests get: all rates, transports and directions, delays, bursts and floors; on a machine at rest
	TAPROOM_SHAPE=1 go test -count=1 -v -p 1 -parallel 1 -timeout 90m ./internal/network/qos -run "Kept|Shared|Burst|Whole|Other|Limit"
	bin/taproom bench shape

# Not in build/: guests' users must reach their QEMU, and a clone may lie where they cannot.
NEW := /var/cache/taproom/backports
clients-new: setup-test build $(GOTESTSUM) ## the same with virsh and QEMU of the distribution's backports, unpacked beside
	tools/backports.sh $(NEW) qemu-system-x86 qemu-utils qemu-system-modules-opengl qemu-system-modules-spice qemu-block-extra libvirt-clients libvirt0
	TAPROOM_BIN=$(CURDIR)/bin TAPROOM_VIRSH=$(NEW)/usr/bin/virsh TAPROOM_QEMU10=$(NEW) \
	  $(GO_TEST) -timeout 30m ./internal/daemon/clienttest ./internal/qemu/... ./internal/api/server

# Debian 12 is the one release without virt-top: the next one's is unpacked beside.
TOP := trixie
TOPDIR := /var/cache/taproom/virt-top
desktop: setup-test setup-desktop build $(GOTESTSUM) ## virt-install and its siblings, and virt-manager on a display of its own; pictures in build/desktop
	tools/unpack.sh $(TOP) $(TOPDIR) virt-top
	TAPROOM_TOP=$(TOPDIR) TAPROOM_DESKTOP=$(CURDIR)/build/desktop TAPROOM_BIN=$(CURDIR)/bin $(GO_TEST) -timeout 20m ./internal/daemon/desktoptest

DEBIAN := /var/cache/taproom/debian
guest-debian: setup-test setup-guest build $(GOTESTSUM) ## a guest of the distribution, made with debootstrap, from its first boot to its power-off
	tools/debian-guest.sh $(DEBIAN)
	TAPROOM_DEBIAN=$(DEBIAN) TAPROOM_BIN=$(CURDIR)/bin $(GO_TEST) -timeout 20m -run Debian ./internal/daemon/desktoptest

appliance: setup-test setup-appliance build ## build the kernels of appliances and of the built-in guest, and the tools, and run the tests that need them
	bin/taproom appliance build --kernel own --guest --uml
	TAPROOM_APPLIANCE=1 TAPROOM_BIN=$(CURDIR)/bin go test -count=1 -v -timeout 30m ./internal/appliance/build ./internal/appliance/toolbox ./disk
	TAPROOM_APPLIANCE=1 TAPROOM_BIN=$(CURDIR)/bin go test -count=1 -v -timeout 30m -run Documents/disk ./internal/cli
	TAPROOM_BIN=$(CURDIR)/bin go test -count=1 -v -timeout 30m -run 'Own|UserModeLinux' ./internal/appliance ./internal/appliance/launch

appliance-long: setup-test build ## 1000 appliances in a row and 200 at once, and callers killed at every call to the host, leave nothing; 1000 are alive at a time
	TAPROOM_LONG=1 TAPROOM_BIN=$(CURDIR)/bin go test -count=1 -v -timeout 60m -run 'Clones' ./internal/appliance/launch
	TAPROOM_LONG=1 TAPROOM_BIN=$(CURDIR)/bin go test -count=1 -v -timeout 60m -run 'HundredAppliances' ./internal/bench

appliance-libvirt: setup-test ## an appliance is a domain of the distribution's libvirt, which is fetched and runs beside
	tools/peers.sh build/peers
	TAPROOM_PEERS=$(CURDIR)/build/peers go test -count=1 -v -timeout 10m -run DistributionsLibvirt ./internal/bench

appliance-twice: appliance ## build the kernels once more in another folder: they have to be the same, byte by byte
	TAPROOM_APPLIANCE=twice go test -count=1 -v -timeout 240m -run 'SameBytes/$(ONLY)' ./internal/appliance/kbuild

# What the kernel has the last word in. RUN=regexp runs some of the tests, PKG=./internal/… other packages, KERNEL=6.12 one kernel;
# ALL=1 those too that this machine's kernel does not skip.
PKG ?= ./internal/host/... ./internal/network/state ./internal/network/qos@FairQueue ./internal/network/ovs ./internal/network/firewall ./internal/qemu ./internal/qemu/launch ./internal/engine/tuning \
  ./internal/daemon/clienttest@Vsock|SessionUsesTheCgroup|AParameterOfAGuestThatRuns|ALimitIsSet|WhereTheyArePinned ./internal/daemon/nictest@VHost|KernelsDatapath
lab: setup-test setup-lab build ## the tests that this kernel skips on kernels of the distribution, in emulated guests, and what runs nowhere
	go run -C tools ./lab -repo $(CURDIR) -kernel '$(KERNEL)' -run '$(RUN)' $(if $(ALL),-all -timeout 60m) $(foreach p,$(PKG),'$(p)')

# TARGETS="fuzz FUZZTIME=100x" runs other targets there, with variables; RELEASE=trixie takes Debian 13; KEEP=1 keeps the root.
RELEASE ?= bookworm
TARGETS ?= run test
fresh: setup-fresh ## the targets in TARGETS for the commit that is checked out, in a new Debian that has nothing else; logs in build/fresh
	tools/fresh.sh $(RELEASE) $(TARGETS)

# A number of inputs: at the end of a duration go test fails now and then with "context deadline exceeded".
FUZZTIME ?= 20000x
fuzz: ## every fuzz target for FUZZTIME
	go list ./... | while read -r p; do \
	  go test -list '^Fuzz' $$p </dev/null | sed -n '/^Fuzz/p' | while read -r f; do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p </dev/null; done; done

bench: build ## what this build takes, beside the floor under it
	bin/taproom bench start
	bin/taproom bench many
	bin/taproom bench readopt --guests 25
	bin/taproom bench api
	bin/taproom bench addresses
	bin/taproom bench shape
	bin/taproom bench names
	bin/taproom bench filter
	bin/taproom bench networks
	bin/taproom bench copy --rounds 5
	bin/taproom bench networks --stream --backend nft
	bin/taproom bench boot
	bin/taproom bench uml --rounds 5
	bin/taproom bench parallel --appliances 10,20,50,100,200,500,1000

COUNTERS := internal/bench/counters.txt
# RENEW=1 accepts the differences: it writes the file, and internal/bench/counters.sum, which says what code was counted.
bench-counters: setup-test build ## what does not scatter: programs, calls, messages and memory of single operations, beside the committed counts
	bin/taproom bench counters --rounds 10 --counters $(COUNTERS) $(if $(RENEW),--renew)
	$(if $(RENEW),$(MAKE) counters-seal)

counters-seal: build ## write which code the counters count, by a run with coverage
	rm -rf build/counted
	mkdir -p build/counted/data
	CGO_ENABLED=0 go build -trimpath -cover -covermode=set -coverpkg=./cmd/...,./internal/... -o build/counted/ ./cmd/taproom ./cmd/taproomd
	cp bin/taproom-launch bin/taproom-vnet bin/taproom-init build/counted/
	GOCOVERDIR=$(CURDIR)/build/counted/data build/counted/taproom bench counters --rounds 1
	go tool covdata textfmt -i=build/counted/data -o=build/counted/profile
	go run -C tools ./repocheck --seal-counters $(CURDIR)/build/counted/profile $(CURDIR)

counters-twice: setup-test build ## two runs count the same, of every operation
	TAPROOM_LONG=1 TAPROOM_BIN=$(CURDIR)/bin go test -count=1 -v -timeout 10m -run TestCounters_ ./internal/bench

bench-peers: build ## the same by turns with the distribution's libvirtd and dnsmasq, fetched beside, not installed
	tools/peers.sh build/peers
	bin/taproom bench start --peers build/peers
	bin/taproom bench many --peers build/peers --rounds 5
	bin/taproom bench api --peers build/peers
	bin/taproom bench addresses --peers build/peers
	bin/taproom bench networks --peers build/peers --rounds 5 --active 1,20,100
	bin/taproom bench copy --peers build/peers --rounds 3
	bin/taproom bench boot --peers build/peers --rounds 5
	bin/taproom bench inspect --peers build/peers

BASE ?= HEAD
bench-ab: build ## this tree by turns with revision BASE, and whether they differ
	rm -rf build/ab
	mkdir -p build/ab/src
	git archive $(BASE) | tar -x -C build/ab/src
	CGO_ENABLED=0 go build -C build/ab/src -trimpath -o $(CURDIR)/build/ab/bin/ $(HOST_CMDS:%=./cmd/%)
	bin/taproom bench start --base build/ab/bin
	bin/taproom bench many --base build/ab/bin
	bin/taproom bench readopt --guests 25 --base build/ab/bin
	bin/taproom bench api --base build/ab/bin
	bin/taproom bench addresses --base build/ab/bin
	bin/taproom bench networks --base build/ab/bin --backend nft --active 1,20

# REPORT=folder/report.json opens a real one too.
report-check: setup-report ## the report in Debian's Chromium: phone, desktop and print, light and dark; pictures in build/report
	TAPROOM_CHROMIUM=/usr/bin/chromium TAPROOM_REPORT=$(abspath $(REPORT)) TAPROOM_PICTURES=$(CURDIR)/build/report go test -count=1 -v -timeout 10m -run InABrowser ./internal/bench/suite

promises: setup-build ## take the figures of REPORT=folder/report.json, a full run of taproom bench all, into PROMISES.md
	go run ./internal/bench/suite/promises '$(REPORT)' PROMISES.md

clean: ## remove what was built here
	rm -rf bin build

setup-build setup-run setup-test setup-race setup-desktop setup-guest setup-lab setup-fresh setup-appliance setup-report: setup-%:
	tools/setup.sh $*
