package membership

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// Limits of the remembered revocations.
const (
	maxRevoked  = 4096
	revokedTime = 24 * time.Hour
)

// revocations are the revoked keys of the cluster, and those that a key file has again.
type revocations struct {
	entries  map[string]*revocation // by holder
	digest   uint64                 // of the entries, regardless of their order and age
	dirty    bool                   // the revoked holders have changed and are not being applied yet
	applying bool                   // they are being applied
}

type revocation struct {
	number   uint64
	restored bool
	since    time.Time
}

func newRevocations() revocations { return revocations{entries: map[string]*revocation{}} }

// digestText returns the digest in the form in which beats contain it.
func (r *revocations) digestText() string { return fmt.Sprintf("%016x", r.digest) }

// toggle adds an entry to the digest, or removes it.
func (r *revocations) toggle(holder string, e *revocation) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(holder + "\x00" + strconv.FormatUint(e.number, 10) + strconv.FormatBool(e.restored)))
	r.digest ^= h.Sum64()
}

// set replaces the entry of a holder.
func (r *revocations) set(holder string, e revocation) {
	was := r.entries[holder]
	if was != nil {
		r.toggle(holder, was)
	} else if len(r.entries) >= maxRevoked {
		r.dropOldest()
	}
	r.entries[holder] = &e
	r.toggle(holder, &e)
	r.dirty = r.dirty || (was != nil && !was.restored) == e.restored
}

func (r *revocations) drop(holder string) {
	e := r.entries[holder]
	r.toggle(holder, e)
	delete(r.entries, holder)
	r.dirty = r.dirty || !e.restored
}

// dropOldest drops the oldest entry. Of equally old ones it is the one whose holder sorts first.
func (r *revocations) dropOldest() {
	oldest := ""
	for holder, e := range r.entries {
		if oldest == "" || e.since.Before(r.entries[oldest].since) || e.since.Equal(r.entries[oldest].since) && holder < oldest {
			oldest = holder
		}
	}
	r.drop(oldest)
}

func (r *revocations) sweep(now time.Time) {
	for holder, e := range r.entries {
		if now.Sub(e.since) >= revokedTime {
			r.drop(holder)
		}
	}
}

// merge adds a revocation that another node knows, unless this node knows a newer one.
func (r *revocations) merge(now time.Time, m *cluster.Revocation) {
	since := now.Add(-time.Duration(m.Age) * time.Second)
	if now.Sub(since) >= revokedTime {
		return
	}
	if e := r.entries[m.Holder]; e != nil {
		known := cluster.Revocation{Number: e.number, Restored: e.restored}
		if !m.Overrides(&known) {
			if !known.Overrides(m) && since.Before(e.since) {
				e.since = since // all nodes drop it at about the same time
			}
			return
		}
	}
	r.set(m.Holder, revocation{m.Number, m.Restored, since})
}

// change records that this node's key file has lost the holder's key, or has it again. It returns the
// revocation to send to the other nodes, or false if there is none to send.
func (r *revocations) change(now time.Time, holder string, restored bool) (cluster.Revocation, bool) {
	e := r.entries[holder]
	if restored && e == nil || e != nil && e.restored == restored {
		return cluster.Revocation{}, false
	}
	next := revocation{number: 1, restored: restored, since: now}
	if e != nil {
		next.number = e.number + 1
	}
	r.set(holder, next)
	return cluster.Revocation{Holder: holder, Number: next.number, Restored: restored}, true
}

// sorted returns the revocations, sorted by holder.
func (r *revocations) sorted(now time.Time) []cluster.Revocation {
	list := make([]cluster.Revocation, 0, len(r.entries))
	for _, holder := range slices.Sorted(maps.Keys(r.entries)) {
		e := r.entries[holder]
		list = append(list, cluster.Revocation{Holder: holder, Number: e.number, Restored: e.restored, Age: max(0, int64(now.Sub(e.since)/time.Second))})
	}
	return list
}

// holders returns the holders whose keys are revoked.
func (r *revocations) holders() map[string]bool {
	set := map[string]bool{}
	for holder, e := range r.entries {
		if !e.restored {
			set[holder] = true
		}
	}
	return set
}

func (s *state) revokeHolders(now time.Time, holders []string, out []kernel.Effect) []kernel.Effect {
	return s.changeHolders(now, holders, false, out)
}

func (s *state) restoreHolders(now time.Time, holders []string, out []kernel.Effect) []kernel.Effect {
	return s.changeHolders(now, holders, true, out)
}

// changeHolders informs all nodes that this node's key file has lost the keys of these holders, or has them again.
func (s *state) changeHolders(now time.Time, holders []string, restored bool, out []kernel.Effect) []kernel.Effect {
	m := cluster.Revocations{Cluster: s.options.Cluster, From: s.own.incarnation}
	for _, holder := range holders {
		if len(holder) > cluster.MaxHolder {
			continue
		}
		if r, news := s.revoked.change(now, holder, restored); news {
			m.List = append(m.List, r)
		}
	}
	for list := range slices.Chunk(m.List, cluster.MaxRevocations) {
		m.List = list
		out = append(out, kernel.Act(publish{cluster.SubjectRevoked, m.Encode()}))
	}
	return out
}

func (s *state) mergeRevoked(now time.Time, list []cluster.Revocation) {
	for i := range list {
		s.revoked.merge(now, &list[i])
	}
}

// applyRevoked applies the revoked holders after a change, one set at a time.
func (s *state) applyRevoked(out []kernel.Effect) []kernel.Effect {
	if !s.revoked.dirty || s.revoked.applying {
		return out
	}
	if s.revoked.dirty = false; s.options.Revoked == nil {
		return out
	}
	s.revoked.applying = true
	return append(out, kernel.Act(revoke{s.revoked.holders()}))
}
