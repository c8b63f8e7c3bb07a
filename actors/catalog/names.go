package catalog

import (
	"strconv"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/namespace"
)

// The modes of naming tools and prompts. Any other value means that names always have the server's prefix, if it has
// one.
const (
	modeOnConflict = "on-conflict" // names have the prefix if several servers have an item with the bare name
	modeNever      = "never"
)

// nameAll assigns public names to the tools or prompts of all servers. It returns the items by public name, and
// warnings about items that did not get the name they requested. Hidden items get names too, so changing a filter
// changes no name.
func nameAll(items, before []*item, naming Naming, had holdings) (taken map[string]*item, warnings []string) {
	choosePrefixed(items, naming)
	for _, it := range items {
		it.want = nameOf(it, naming)
	}
	taken = make(map[string]*item, len(items))
	for _, it := range inNamingOrder(items, before, had, func(it *item) bool { return it.want == plainName(it, naming) }) {
		it.public = it.want
		if it.had != nil {
			it.public = it.had.public
		}
		for n := 0; taken[it.public] != nil; n++ {
			it.public = namespace.WithSuffix(it.want, seed(it.item, n), limit(naming))
		}
		taken[it.public] = it.item
	}
	for _, it := range items {
		if it.public == it.want {
			continue
		}
		if owner := taken[it.want]; owner != nil {
			warnings = warn(warnings, "%s: %q of server %s is listed as %q, because the name %q belongs to %q of server %s", it.kind,
				clip(it.own, shown), it.server.Name, it.public, it.want, clip(owner.own, shown), owner.server.Name)
		}
	}
	return taken, warnings
}

// choosePrefixed marks the items that get their server's prefix, if it has one: all, none, or those whose bare name
// several servers use.
func choosePrefixed(items []*item, naming Naming) {
	owner := make(map[string]*Server) // by bare name; nil = several
	if naming.Namespace.Mode == modeOnConflict {
		for _, it := range items {
			bare := nameOf(it, naming)
			if s, known := owner[bare]; !known {
				owner[bare] = it.server
			} else if s != it.server {
				owner[bare] = nil
			}
		}
	}
	for _, it := range items {
		switch naming.Namespace.Mode {
		case modeNever:
		case modeOnConflict:
			it.prefixed = owner[nameOf(it, naming)] == nil && prefix(it.server) != ""
		default:
			it.prefixed = prefix(it.server) != ""
		}
	}
}

// nameOf returns the public name the item requests.
func nameOf(it *item, naming Naming) string {
	if !it.prefixed {
		return namespace.PublicName("", "", it.name, limit(naming))
	}
	return namespace.PublicName(prefix(it.server), naming.Namespace.Separator, it.name, limit(naming))
}

// plainName returns nameOf's result without limits on characters and length.
func plainName(it *item, naming Naming) string {
	if !it.prefixed {
		return it.name
	}
	return prefix(it.server) + naming.Namespace.Separator + it.name
}

// prefix returns the prefix of a server's tools and prompts, or "".
func prefix(s *Server) string {
	switch s.Rules.Prefix {
	case "":
		return s.Name
	case config.NoPrefix:
		return ""
	}
	return s.Rules.Prefix
}

func limit(naming Naming) int {
	if naming.Namespace.MaxLength > 0 {
		return naming.Namespace.MaxLength
	}
	return 64
}

// seed returns the input for the suffix of a colliding name. It depends only on the item and the number of failed
// attempts, not on what the name collides with.
func seed(it *item, attempt int) string {
	s := it.server.Name + "\x00" + it.own
	if attempt > 0 {
		s += "\x00" + strconv.Itoa(attempt)
	}
	return s
}
