package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/bench/report"
)

// Kinds are the measurements that Run supports.
var Kinds = []string{"calls", "big", "list", "idle", "cells", "cold", "identity", "telemetry"}

// Options configures Run. Default completes them.
type Options struct {
	Kind        string        // one of Kinds
	Concurrency []int         // concurrent clients, one row each; default 1, 8, 64 (big, list and cells: 8, identity and telemetry: 64)
	Duration    time.Duration // measured time per target and concurrency, for all rounds together; default 10 s
	Rounds      int           // rounds that the duration is divided into; default 5
	HTTP, Stdio int           // servers of each kind behind the gateway; default 1 and 1
	Compare     []string      // elements of report.Comparable; Direct is always measured, because ratios need it
	Servers     int           // list: servers behind the gateway; default 20
	Tools       int           // list: tools per server, all on one page; default 50
	Starts      int           // cold: starts per size; default 20
	Sessions    int           // idle: concurrent sessions; default 2000
	Program     string        // this binary, which is started as server, proxy and gateway
	Gateway     string        // a binary to start as the gateway; "" = Program
	Commit      string        // for the report
	Command     string        // for the report
}

// Default returns o with zero fields replaced by their defaults.
func (o Options) Default() Options {
	if len(o.Concurrency) == 0 {
		o.Concurrency = map[string][]int{"calls": {1, 8, 64}, "identity": {64}, "telemetry": {64}}[o.Kind]
		if o.Concurrency == nil {
			o.Concurrency = []int{8}
		}
	}
	if o.Duration == 0 {
		o.Duration = 10 * time.Second
	}
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	if o.HTTP == 0 && o.Stdio == 0 {
		o.HTTP, o.Stdio = 1, 1
	}
	if o.Servers == 0 && o.Tools == 0 {
		o.Servers, o.Tools = 20, 50
	}
	if o.Starts == 0 {
		o.Starts = 20
	}
	if o.Sessions == 0 {
		o.Sessions = 2000
	}
	return o
}

// gateway returns the binary that is started as the gateway.
func (o Options) gateway() string { return cmp.Or(o.Gateway, o.Program) }

// Validate returns all errors at once.
func (o Options) Validate() error {
	var faults []error
	if !slices.Contains(Kinds, o.Kind) {
		faults = append(faults, fmt.Errorf("kind: got %q, expected one of %s", o.Kind, strings.Join(Kinds, ", ")))
	}
	for _, c := range o.Concurrency {
		if c < 1 || c > 10000 {
			faults = append(faults, fmt.Errorf("concurrency: got %d, expected 1 to 10000", c))
		}
	}
	if o.Duration < 0 || o.Rounds < 0 || o.Rounds > 1000 || o.Sessions < 0 || o.Sessions > 100000 || o.Starts < 0 || o.Starts > 1000 {
		faults = append(faults, errors.New("duration, rounds, sessions and starts: expected values above 0, and at most 1000 rounds, 100000 sessions and 1000 starts"))
	}
	if o.Servers < 1 || o.Servers > 1000 || o.Tools < 1 || o.Tools > 1000 {
		faults = append(faults, fmt.Errorf("servers and tools: got %d and %d, expected 1 to 1000 of each", o.Servers, o.Tools))
	}
	for _, c := range o.Compare {
		if !slices.Contains(report.Comparable, c) {
			faults = append(faults, fmt.Errorf("compare: got %q, expected one of %s", c, strings.Join(report.Comparable, ", ")))
		}
	}
	return errors.Join(faults...)
}

// ParseBackends parses numbers of servers, such as "stdio:1,http:2".
func ParseBackends(text string) (http, stdio int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		kind, number, found := strings.Cut(strings.TrimSpace(part), ":")
		n := 1
		if found {
			if n, err = strconv.Atoi(number); err != nil || n < 0 || n > 100 {
				return 0, 0, fmt.Errorf("backends: got %q, expected kind:number with at most 100 each", part)
			}
		}
		switch kind {
		case "http":
			http = n
		case "stdio":
			stdio = n
		default:
			return 0, 0, fmt.Errorf("backends: got %q, expected stdio or http", kind)
		}
	}
	if http+stdio == 0 {
		return 0, 0, errors.New("backends: expected at least one server")
	}
	return http, stdio, nil
}

// allOf returns an error if any of words is not in known.
func allOf(what string, words, known []string) error {
	for _, word := range words {
		if !slices.Contains(known, word) {
			return fmt.Errorf("%s: unknown %q; expected some of %s", what, word, strings.Join(known, ", "))
		}
	}
	return nil
}
