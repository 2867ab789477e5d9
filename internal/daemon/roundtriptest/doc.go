// Package roundtriptest holds that a daemon loses nothing of a domain's document: what it shows of one that was defined
// defines the same domain again. It has tests only.
package roundtriptest
