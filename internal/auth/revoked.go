package auth

import (
	"maps"

	"goblin-actor/internal/identity"
)

// keyFile is what was read from the key file.
type keyFile struct {
	path string // "" = no authentication
	keys []Key
	read bool // it could be read, now or before
}

// read reads the key file at path. If it cannot be read, the keys stay if they come from the same file; otherwise there are
// none. The caller must hold mu.
func (g *Gate) read(path string) error {
	was := g.file
	if path == "" {
		g.file = keyFile{}
		return nil
	}
	keys, err := Load(path)
	if err != nil {
		if was.path != path {
			g.file = keyFile{path: path}
		}
		return err
	}
	g.file = keyFile{path, keys, true}
	if was.path == path && was.read {
		g.compare(was.keys, keys)
	}
	return nil
}

// compare reports the holders that only one of two contents of the key file has.
func (g *Gate) compare(was, now []Key) {
	if g.options.Lost == nil && g.options.Found == nil {
		return
	}
	before, after := holdersOf(was), holdersOf(now)
	report := func(f func([]string), keys []Key, others map[string]bool) {
		var list []string
		for i := range keys {
			if holder := holderOf(&keys[i]); !others[holder] {
				list = append(list, holder)
			}
		}
		if len(list) > 0 && f != nil {
			f(list)
		}
	}
	report(g.options.Lost, was, after)
	report(g.options.Found, now, before)
}

func holdersOf(keys []Key) map[string]bool {
	set := make(map[string]bool, len(keys))
	for i := range keys {
		set[holderOf(&keys[i])] = true
	}
	return set
}

// holderOf returns the holder of a key's principal.
func holderOf(k *Key) string { return identity.Held(identity.ViaKey+":"+k.Name, firstBytes(&k.Sum)) }

// without returns the keys whose holders are not revoked.
func (f *keyFile) without(revoked map[string]bool) []Key {
	if len(revoked) == 0 {
		return f.keys
	}
	keys := make([]Key, 0, len(f.keys))
	for i := range f.keys {
		if !revoked[holderOf(&f.keys[i])] {
			keys = append(keys, f.keys[i])
		}
	}
	return keys
}

// FileDigest returns a digest of the keys that were last read from the key file, or "" if auth.keys is not set. Nodes of a cluster compare
// their digests.
func (g *Gate) FileDigest() string {
	g.mu.Lock()
	file := g.file
	g.mu.Unlock()
	if file.path == "" {
		return ""
	}
	return digest(file.keys)
}

// Revoke replaces the set of holders whose keys are not admitted, although the key file may have them: another node of the
// cluster has revoked them. Their principals no longer exist, as if the key file had lost them. Revoke may block while the
// key file is being read. The gate owns the map.
func (g *Gate) Revoke(holders map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if maps.Equal(g.revoked, holders) {
		return
	}
	g.revoked = holders
	was := g.state.Load()
	if was.keys == nil {
		return
	}
	next := *was
	next.keys = newKeySet(g.file.without(holders), &next.Settings, was.keys)
	g.publish(was, &next)
}
