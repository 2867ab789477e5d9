// Package alloc hands out what must be unique on a host: names of links, TCP ports and user numbers. Each allocator is
// safe for use by several goroutines and keeps only a bit or two per thing; what is in use after a restart is told it
// again by Reserve. None of them asks the host whether a name exists: they are told once of all links and then of changes,
// which may be old news by then, so the exclusive creation itself is the question.
package alloc

import "errors"

// ErrExhausted says that everything in a range is in use; it arrives wrapped with the range.
var ErrExhausted = errors.New("all in use")

// ErrTaken says that what should be reserved is in use already.
var ErrTaken = errors.New("already in use")
