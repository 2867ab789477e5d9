//go:build !amd64

package host

import "errors"

// TSCFrequency fails: there is no such counter on this processor.
func TSCFrequency() (kHz int, err error) {
	return 0, errors.New("this processor has no time stamp counter")
}
