package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"taproom/internal/host"
)

// Env is the host a plan is made for and carried out on.
type Env struct {
	Kernel   *host.Kernel
	Group    uint32          // our link group
	Firewall FirewallBackend // nil: elements are neither observed nor planned
	Services ServiceBackend  // nil: services are neither observed nor planned
	Switch   SwitchBackend   // nil: ports of Open vSwitch are neither observed nor planned
	NoFences bool            // the kernel has none: fences of bridges are neither observed nor planned
	// Sheltered says that the firewall's rules that protect guests are missing: bridges have Fence and Shelter.
	Sheltered bool

	// FairQueues has the flows that a limit bounds take turns. The kernel needs fq_codel for that (probe.FairQueue).
	FairQueues bool

	// Timed, where it is not nil, is told how long each step took, and those that were under way together as the first.
	Timed func(s Step, began, ended time.Time)

	// Taps are those that Apply made, by name. The caller passes their descriptors on and closes them; it also closes
	// those of a plan that failed half-way.
	Taps map[string]*host.Tap
}

// CloseTaps closes the descriptors of taps nobody took. The taps disappear with them.
func (e *Env) CloseTaps() error { return e.dropTaps(slices.Collect(maps.Keys(e.Taps))...) }

// dropTap closes the descriptors of a tap whose link is gone, if nobody took them.
func (e *Env) dropTap(name string) error { return e.dropTaps(name) }

// dropTaps does that for several, side by side: for the last descriptor of a macvtap the kernel waits for a grace period.
func (e *Env) dropTaps(names ...string) error {
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		if t, ok := e.Taps[name]; ok {
			delete(e.Taps, name)
			wg.Go(func() { errs[i] = t.Close() })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// FirewallBackend is the firewall: constant rules, and sets whose members say what they apply to.
type FirewallBackend interface {
	// Observe lists the members of our sets, in any order: of the ones that are named those that are there, or all. When the
	// rules or sets are not there as they should be it lists none, and Apply puts them there.
	Observe(ctx context.Context, only ...Element) ([]Element, error)
	// Apply adds and removes members in one transaction: all or nothing. Adding what is there and removing what is not
	// there are no errors. After an error it is not known what happened: observe again.
	Apply(ctx context.Context, add, del []Element) error
	// Render returns the commands that do the same.
	Render(add, del []Element) []string
}

// FirewallWatcher is a FirewallBackend that notices when others change it.
type FirewallWatcher interface {
	// Watch calls changed when what Observe says may have become otherwise by somebody else's doing, until ctx is done;
	// then it returns nil. Who names the program that did it where that can be told, and is empty where not. It begins with
	// one call, as soon as nothing escapes it any more. Changed does not block. An error means that nothing is noticed, or
	// nothing any more.
	Watch(ctx context.Context, changed func(who string)) error
}

// FirewallPoller is a FirewallWatcher that may have to poll.
type FirewallPoller interface {
	// Polls reports whether Watch finds changes by looking at intervals, so that some time passes before it calls changed.
	Polls() bool
}

// FirewallProber is a FirewallBackend that finds out whether others go on removing rules while its own are not there.
type FirewallProber interface {
	// Probe places a mark, which does not affect packets, where a program that removes all rules removes it too, unless it is
	// there. It reports whether the mark was missing; Watch reports its removal, where it can report changes.
	Probe(ctx context.Context) (gone bool, err error)
	// Unprobe removes the mark; none is no error.
	Unprobe(ctx context.Context) error
}

// ServiceBackend serves networks: addresses, names and files for their guests.
type ServiceBackend interface {
	// Observe returns what is being served, by the network's UUID: of the networks that are named, or of all. It takes as
	// long as what it returns is much.
	Observe(ctx context.Context, networks ...string) (map[string]Service, error)
	// Set serves a network on the link with an index, in place of what was served for it before.
	Set(ctx context.Context, network string, s Service, index int) error
	// Remove stops serving a network. One that is not served is no error.
	Remove(ctx context.Context, network string) error
}

// ServiceSettler is a ServiceBackend that has something to do after links have gone whose networks it served.
type ServiceSettler interface {
	// Settle is called at the end of a plan, however that ended. It does not block.
	Settle()
}

// ErrForeign says that somebody else owns what should be made or removed.
var ErrForeign = errors.New("not ours")

// ForeignError names the object and what is known of its owner. It is an ErrForeign.
type ForeignError struct {
	Name string // of the link
	Why  string // "is a veth of group 0"
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("link %s is somebody else's: it %s; choose another name, or remove it", e.Name, e.Why)
}

// Is makes it an ErrForeign.
func (e *ForeignError) Is(target error) bool { return target == ErrForeign }

const aliasPrefix = "taproom:"

// leaving is the group that links of ours are moved into which are removed together. Where a daemon is killed before it
// removes them, they are still known as ours.
func leaving(group uint32) uint32 { return group | 1<<27 }

// Alias is what the alias of a link says that belongs to the object with that UUID.
func Alias(owner string) string { return aliasPrefix + owner }
