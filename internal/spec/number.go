package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseNumber reads a number of an address as C does: 0x1f, 31, 037. limit is the largest value allowed.
func ParseNumber(s string, limit uint64) (uint64, error) {
	digits, base := strings.ToLower(strings.TrimSpace(s)), 10
	switch {
	case strings.HasPrefix(digits, "0x"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	}
	return parseDigits(s, digits, base, limit)
}

// ParseDecimal reads a plain decimal number.
func ParseDecimal(s string, limit uint64) (uint64, error) {
	return parseDigits(s, strings.TrimSpace(s), 10, limit)
}

func parseDigits(s, digits string, base int, limit uint64) (uint64, error) {
	if strings.HasPrefix(digits, "+") {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	n, err := strconv.ParseUint(digits, base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && n > limit:
		return 0, fmt.Errorf("%s is too large (limit %d)", s, limit)
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return n, nil
}
