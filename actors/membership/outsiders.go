package membership

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// Limits of what is remembered about nodes that are not members.
const (
	maxOutsiders = 32
	outsiderTime = 10 * time.Second // after its last beat, an outsider is forgotten
)

// Reasons why a node is not a member.
const (
	outsideVersion = "its version is too old or too new"
	outsideFull    = "the cluster has too many nodes"
)

// outsiders are nodes whose beats are heard, but not followed, by incarnation.
type outsiders map[string]outsider

type outsider struct {
	head   cluster.Head
	reason string
	heard  time.Time
}

func (o outsiders) sweep(now time.Time) {
	for incarnation, of := range o {
		if now.Sub(of.heard) > outsiderTime {
			delete(o, incarnation)
		}
	}
}

// refuse handles a beat of a node that cannot become a member.
func (s *state) refuse(now time.Time, head *cluster.Head, reason string, out []kernel.Effect) []kernel.Effect {
	if s.mine(head.Incarnation) {
		return out
	}
	if _, known := s.outsiders[head.Incarnation]; known || len(s.outsiders) < maxOutsiders {
		s.outsiders[head.Incarnation] = outsider{*head, reason, now}
	}
	return s.logRefused(now, head, reason, out)
}

func (s *state) logRefused(now time.Time, head *cluster.Head, reason string, out []kernel.Effect) []kernel.Effect {
	if !s.logs.allow(now, head.Node+"\x00"+reason) {
		return out
	}
	return append(out, kernel.Log(slog.LevelWarn, "a node is not a member of the cluster", "node", head.Node, "incarnation", head.Incarnation,
		"reason", reason, "version", head.Version, "speaks", versionsText(head.Speaks), "this node speaks", versionsText(cluster.Spoken)))
}

func versionsText(v cluster.Versions) string { return fmt.Sprintf("%d to %d", v[0], v[1]) }

// malformed handles a message that cannot be decoded. Only the nodes, and the users of an external NATS server, can send one.
func (s *state) malformed(now time.Time, err error, out []kernel.Effect) []kernel.Effect {
	if err == nil || !s.logs.allow(now, "malformed") {
		return out
	}
	return append(out, kernel.Log(slog.LevelWarn, "a message of another node was ignored", "error", err))
}

// Limits of the log.
const (
	logEvery = time.Minute // between two messages about the same thing
	maxLogs  = 64          // things; messages about further ones are not logged
)

// logLimits are the times of the last messages, by what they are about.
type logLimits map[string]time.Time

// allow reports whether a message about a thing may be logged now.
func (l logLimits) allow(now time.Time, what string) bool {
	last, known := l[what]
	if known && now.Sub(last) < logEvery || !known && len(l) >= maxLogs {
		return false
	}
	l[what] = now
	return true
}

func (l logLimits) sweep(now time.Time) {
	for what, last := range l {
		if now.Sub(last) >= logEvery {
			delete(l, what)
		}
	}
}
