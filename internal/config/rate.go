package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxRate is the maximum number of requests in a rate.
const maxRate = 1_000_000

// Rate is a number of requests per unit of time. The zero value means no limit.
type Rate struct {
	Requests int
	Per      time.Duration
}

// ParseRate parses a rate such as 60/min: a number, a slash, and s, min or h. "" means no limit.
func ParseRate(text string) (Rate, error) {
	if text == "" {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	per, ok := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[unit]
	if !ok {
		return Rate{}, fmt.Errorf("got %q, expected a number, a slash, and s, min or h", clip(text))
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n == 0 || n > maxRate || strconv.FormatUint(n, 10) != number {
		return Rate{}, fmt.Errorf("got %q, expected a number from 1 to %d before the slash", clip(text), maxRate)
	}
	return Rate{int(n), per}, nil
}

// String formats the rate for ParseRate.
func (r Rate) String() string {
	for unit, per := range map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour} {
		if r.Per == per {
			return strconv.Itoa(r.Requests) + "/" + unit
		}
	}
	return ""
}

// Less reports whether r permits less than other. The zero Rate sorts first, so that the maximum of several rates is one that sets a
// limit.
func (r Rate) Less(other Rate) bool {
	if other.Per == 0 || r.Per == 0 {
		return other.Per != 0
	}
	a, b := int64(r.Requests)*int64(other.Per/time.Second), int64(other.Requests)*int64(r.Per/time.Second)
	if a != b {
		return a < b
	}
	return r.Requests < other.Requests // equal rates: the one with fewer requests has the smaller burst
}
