// Package crashtest holds the promise that a daemon can be killed at any instruction: nothing that was answered is undone,
// nothing is left half-made, and guests go on running. It has tests only.
//
// A test kills the daemon at every call into host/ (in the long run, and at one in several else), counted by the daemon itself, until a run gets to its end; others kill
// it at random times, or end what it looks after. After each kill a daemon starts again and is held against what clients
// were answered, and the machine against what the daemon lists.
//
// The refused tests have the kernel refuse calls of a start instead, at every stage of it: a failed start leaves
// nothing behind, and the next start succeeds.
//
// TAPROOM_LONG=1 (make crash) asks for all of it, TAPROOM_SEED=n for the choices of an earlier random run.
package crashtest
