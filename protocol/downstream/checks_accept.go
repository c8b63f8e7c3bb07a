package downstream

import "bytes"

// acceptSet is which of the two answer types a client's Accept headers admit. The zero value means no Accept was sent,
// which admits both (RFC 9110 section 12.5.1).
type acceptSet struct {
	given  bool
	json   bool // application/json, application/*, */*
	events bool // text/event-stream, text/*, */*
	named  bool // text/event-stream or text/* literally: what a GET needs
}

// Add reads one Accept header. Ranges it does not know are skipped; q=0 takes a range out.
func (a *acceptSet) Add(value []byte) {
	a.given = true
	for len(value) > 0 {
		item := value
		if comma := bytes.IndexByte(value, ','); comma >= 0 {
			item, value = value[:comma], value[comma+1:]
		} else {
			value = nil
		}
		kind, parameters, _ := bytes.Cut(item, []byte(";"))
		if kind = trimBlanks(kind); zeroQuality(parameters) {
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

// admitsJSON and admitsEvents: MCP streamable HTTP wants clients to list both; we are content with either, or with silence.
func (a acceptSet) admitsJSON() bool   { return a.json || !a.given }
func (a acceptSet) admitsEvents() bool { return a.events || !a.given }

// zeroQuality reports whether the parameters of a media range hold q=0, q=0.0 …
func zeroQuality(parameters []byte) bool {
	for len(parameters) > 0 {
		item := parameters
		if semicolon := bytes.IndexByte(parameters, ';'); semicolon >= 0 {
			item, parameters = parameters[:semicolon], parameters[semicolon+1:]
		} else {
			parameters = nil
		}
		if item = trimBlanks(item); hasFold(item, "q=") {
			digits := bytes.Trim(item[2:], "0.")
			return len(item) > 2 && len(digits) == 0
		}
	}
	return false
}

// isJSON reports whether a Content-Type names application/json, whatever its parameters.
func isJSON(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte(";"))
	return equalFold(trimBlanks(kind), "application/json")
}
