// Package state is the heart of the loop for networks: what should exist, what does, the difference as a plan, and the
// plan carried out.
//
// A State is plain data. Observe reads one from the host, Diff compares two without touching anything, and Plan.Apply
// does what the plan prints. Nothing here remembers anything: after a failure, a crash or a foreign change the caller
// observes again and diffs again, also to go back to what was before.
//
// It refuses to touch what is not ours: a link without our group and an alias with its owner is never changed or removed,
// a removal goes by index and looks at the link once more before, and an observation that may have missed something plans
// no removal.
package state
