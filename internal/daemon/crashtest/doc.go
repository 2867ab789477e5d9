// Package crashtest holds the promise that a daemon can be killed at any instruction: nothing that was answered is undone,
// nothing is left half-made, and guests go on running. It has tests only.
package crashtest
