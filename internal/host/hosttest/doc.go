// Package hosttest gives each test a piece of the kernel of its own: a network namespace on a thread of its own, with a
// private /sys, checked for leftovers when the test ends. Tests that use it run in parallel.
package hosttest
