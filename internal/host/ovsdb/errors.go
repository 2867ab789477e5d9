package ovsdb

import (
	"errors"
	"fmt"
)

// ErrMalformed is an answer that RFC 7047 does not allow.
var ErrMalformed = errors.New("malformed message from the database")

// ErrTooLong is a message beyond maxMessage.
var ErrTooLong = errors.New("message from the database is too long")

// Error is what the database says no with (RFC 7047, 3.1).
type Error struct {
	Code    string // "constraint violation", "timed out"
	Details string // for people; may be empty
	Op      int    // which operation it is about; one past the last is the commit, -1 the whole request
}

// Error implements error.
func (e *Error) Error() string {
	if e.Details == "" {
		return e.Code
	}
	return e.Code + ": " + e.Details
}

// IsTimeout reports whether a Wait was given up by the database.
func IsTimeout(err error) bool { return hasCode(err, "timed out") }

// IsConstraint reports whether the database refused because of its schema: a name that is there already.
func IsConstraint(err error) bool { return hasCode(err, "constraint violation") }

func hasCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
