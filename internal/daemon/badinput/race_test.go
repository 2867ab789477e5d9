//go:build race

package badinput

// underRace says that the daemon, which is this test's own program, runs under the race detector.
const underRace = true
