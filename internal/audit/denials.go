package audit

import (
	"net/netip"
	"time"
)

const (
	denialWindow = time.Minute // of equal denials in a window, the first is written at once, and the count of the others at the end
	maxDenials   = 256         // distinct denials of unknown clients per window; further ones are counted together
	maxNamed     = 1024        // distinct denials of principals per window, counted separately: a flood of unknown clients must not hide them
)

// denials aggregates equal denials, so that a flood of them cannot fill the disk.
type denials struct {
	until      time.Time // end of the window; zero = no window is open
	seen       map[denial]*Record
	principals int // entries of seen that belong to principals
}

// denial identifies equal denials: by address (for IPv6 its /64, because a client can use any address in it),
// principal and outcome.
type denial struct{ peer, who, outcome string }

// admit counts a denial and reports whether it must be written now, as the first of its kind in the window.
func (d *denials) admit(r *Record) bool {
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
		rest = &Record{Event: EventDenied, Decision: Deny, Detail: "further denials, which are not recorded individually"}
		d.seen[denial{}] = rest
	}
	rest.Count++
	return false
}

// hasRoom reserves an entry for another kind of denial, of a principal or of an unknown client. It returns false if
// the limit is reached.
func (d *denials) hasRoom(principal bool) bool {
	if !principal {
		return len(d.seen)-d.principals < maxDenials
	}
	if d.principals >= maxNamed {
		return false
	}
	d.principals++
	return true
}

// closeWindow closes the window and returns its counts if the window has ended or must is true. Otherwise it returns
// nil.
func (d *denials) closeWindow(now time.Time, must bool) []Record {
	if d.until.IsZero() || now.Before(d.until) && now.After(d.until.Add(-2*denialWindow)) && !must { // a clock set back also ends the window
		return nil
	}
	var out []Record
	for _, r := range d.seen {
		if r.Count > 0 {
			r.Time = now
			out = append(out, *r)
		}
	}
	d.until, d.seen, d.principals = time.Time{}, nil, 0
	return out
}

// network returns the address that denials are counted by: an IPv4 address or the /64 of an IPv6 address.
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
