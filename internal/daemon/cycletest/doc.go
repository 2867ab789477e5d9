// Package cycletest starts and stops networks again and again, and kills the processes that serve them: nothing adds up, and
// guests are served again. It has tests only.
package cycletest
