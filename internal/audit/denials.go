package audit

import (
	"net/netip"
	"time"
)

const (
	denialWindow = time.Minute // equal denials in such a time are one line at its begin and one, with their number, at its end
	maxDenials   = 256         // kinds of denials of nobody who is known told apart in a window; the rest is one more
	maxNamed     = 1024        // likewise of principals: a flood of strangers does not hide who does what is not theirs
)

// denials gather equal denials, so that a flood of them cannot fill the disk.
type denials struct {
	until time.Time // end of the window; zero = none is open
	seen  map[denial]*Record
	named int // of seen, those of principals
}

// denial is what makes two of them equal: the address (of IPv6 the /64, of which anybody has as many as he likes), who it claims to be, and what
// is wrong.
type denial struct{ peer, who, outcome string }

// take reports whether the denial is to be written now. It counts it otherwise.
func (d *denials) take(r *Record) bool {
	if d.seen == nil {
		d.seen = map[denial]*Record{}
	}
	if d.until.IsZero() {
		d.until = r.Time.Add(denialWindow)
	}
	key := denial{network(r.Peer), r.Who, r.Outcome}
	if counted := d.seen[key]; counted != nil {
		counted.Count++
		return false
	}
	if d.hasRoom(r.Who != "") {
		counted := *r
		counted.Count, counted.Peer = 0, key.peer
		d.seen[key] = &counted
		return true
	}
	rest := d.seen[denial{}]
	if rest == nil {
		rest = &Record{Event: EventDenied, Decision: Deny, Detail: "from more addresses than are told apart"}
		d.seen[denial{}] = rest
	}
	rest.Count++
	return false
}

// hasRoom takes a place among the kinds of denials that are told apart, of principals or of others; false when there is none.
func (d *denials) hasRoom(principal bool) bool {
	if !principal {
		return len(d.seen)-d.named < maxDenials
	}
	if d.named >= maxNamed {
		return false
	}
	d.named++
	return true
}

// over returns what was counted, if the window is over, or has to be.
func (d *denials) over(now time.Time, must bool) []Record {
	if d.until.IsZero() || now.Before(d.until) && now.After(d.until.Add(-2*denialWindow)) && !must { // a clock that was set back ends it too
		return nil
	}
	var out []Record
	for _, r := range d.seen {
		if r.Count > 0 {
			r.Time = now
			out = append(out, *r)
		}
	}
	d.until, d.seen, d.named = time.Time{}, nil, 0
	return out
}

// network is what an address is counted under.
func network(peer string) string {
	address, err := netip.ParseAddr(trimBrackets(peer))
	if err != nil || !address.Is6() || address.Is4In6() {
		return peer
	}
	prefix, err := address.Prefix(64)
	if err != nil {
		return peer
	}
	return prefix.String()
}

func trimBrackets(s string) string {
	if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		return s[1 : len(s)-1]
	}
	return s
}
