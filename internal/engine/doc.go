// Package engine is the one room that knows all the others: what should exist (store), what does (the kernel, QEMU, the
// network helper), and the jobs that bring the two together.
//
// Networks and links follow one path: desired, observed, difference, apply. It serves a start, a stop, a failed start and
// a daemon that was killed half-way alike. A guest is not a difference: its host side is, and comes first; what cannot be
// undone comes last. What must be found again is written down before it is made (record, activeNetwork).
package engine
