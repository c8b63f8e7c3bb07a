package downstream

import "bytes"

// acceptSet holds which of the two response types a client's Accept headers allow. The zero value means that no Accept
// header was sent, which allows both (RFC 9110, section 12.5.1).
type acceptSet struct {
	given  bool
	json   bool // application/json, application/*, */*
	events bool // text/event-stream, text/*, */*
	named  bool // text/event-stream or text/*, which a GET requires
}

// add parses one Accept header. It skips unknown media ranges and those with q=0.
func (a *acceptSet) add(value []byte) {
	a.given = true
	for len(value) > 0 {
		item := value
		if comma := bytes.IndexByte(value, ','); comma >= 0 {
			item, value = value[:comma], value[comma+1:]
		} else {
			value = nil
		}
		kind, parameters, _ := bytes.Cut(item, []byte(";"))
		if kind = trimSpace(kind); zeroQuality(parameters) {
			continue
		}
		switch {
		case equalFold(kind, "*/*"):
			a.json, a.events = true, true
		case equalFold(kind, "application/json"), equalFold(kind, "application/*"):
			a.json = true
		case equalFold(kind, "text/event-stream"), equalFold(kind, "text/*"):
			a.events, a.named = true, true
		}
	}
}

// admitsJSON and admitsEvents report whether the client accepts a response type. MCP requires clients to list both
// types; the gateway also accepts one of them, or no Accept header.
func (a acceptSet) admitsJSON() bool   { return a.json || !a.given }
func (a acceptSet) admitsEvents() bool { return a.events || !a.given }

// zeroQuality reports whether the parameters of a media range contain q=0 in any notation.
func zeroQuality(parameters []byte) bool {
	for len(parameters) > 0 {
		item := parameters
		if semicolon := bytes.IndexByte(parameters, ';'); semicolon >= 0 {
			item, parameters = parameters[:semicolon], parameters[semicolon+1:]
		} else {
			parameters = nil
		}
		if item = trimSpace(item); hasFold(item, "q=") {
			digits := bytes.Trim(item[2:], "0.")
			return len(item) > 2 && len(digits) == 0
		}
	}
	return false
}

// isJSON reports whether a Content-Type is application/json, with any parameters.
func isJSON(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte(";"))
	return equalFold(trimSpace(kind), "application/json")
}
