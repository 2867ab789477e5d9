// Package lease is what all address services of a network have in common: a lease, its life on a clock that nobody can
// move, and the file it survives in.
package lease
