package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// span is a span in the output of the collector's debug exporter.
type span struct {
	service                 string
	trace, parent, id, name string
	kind                    string
	attributes              []string // "key: value"
}

var (
	fieldLine     = regexp.MustCompile(`^\s+(Trace ID|Parent ID|ID|Name|Kind)\s*: ?(.*)$`)
	attributeLine = regexp.MustCompile(`^\s+-> ([^:]+): \w+\((.*)\)$`)
)

// spansIn parses the spans of the output.
func spansIn(output string) (all []span) {
	var now *span
	service := ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "ResourceSpans #") {
			now, service = nil, ""
			continue
		}
		if strings.HasPrefix(line, "Span #") {
			all = append(all, span{service: service})
			now = &all[len(all)-1]
			continue
		}
		if line != "" && line[0] != ' ' { // the next block
			if !strings.HasPrefix(line, "Attributes:") && !strings.HasPrefix(line, "Events:") && !strings.HasPrefix(line, "Links:") {
				now = nil
			}
			continue
		}
		if m := attributeLine.FindStringSubmatch(line); m != nil {
			if now == nil && m[1] == "service.name" {
				service = m[2]
			} else if now != nil {
				now.attributes = append(now.attributes, m[1]+": "+m[2])
			}
			continue
		}
		if m := fieldLine.FindStringSubmatch(line); m != nil && now != nil {
			now.set(m[1], strings.TrimSpace(m[2]))
		}
	}
	return all
}

func (s *span) set(field, value string) {
	switch field {
	case "Trace ID":
		s.trace = value
	case "Parent ID":
		s.parent = value
	case "ID":
		s.id = value
	case "Name":
		s.name = value
	case "Kind":
		s.kind = strings.ToUpper(value)
	}
}

// chain returns the root span of a trace, a child of it, a child of that child, and so on. If the trace branches or is incomplete, some of its
// spans are missing.
func chain(all []span, trace string) (list []span) {
	parent := ""
	for {
		i := slices.IndexFunc(all, func(s span) bool { return s.trace == trace && s.parent == parent })
		if i < 0 {
			return list
		}
		list, parent = append(list, all[i]), all[i].id
	}
}

// String returns the span as one line.
func (s span) String() string {
	return fmt.Sprintf("%-16s %-12s %-28s %s", s.id, s.service, s.name, s.kind)
}
