// Package crowdtest holds what many clients may expect of one daemon at the same time. It has tests only.
package crowdtest
