package catalog

import (
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// maxSuspects is the maximum number of servers considered for an unknown name.
const maxSuspects = 64

// Suspects returns the servers in view that might own an unknown name or URI: those it names, otherwise up to maxSuspects
// servers. They may still be starting, or have changed without notice. Unless names pass through, there are none for a
// URI in style prefix that names a server outside the view.
func (v *View) Suspects(kind protocol.ItemKind, name string) []*Server {
	servers := v.servers[:min(len(v.servers), maxSuspects)]
	if v.pass {
		return servers
	}
	if kind == protocol.Resources || kind == protocol.Templates {
		if server, _, ok := namespace.SplitPrefixURI(name); ok {
			s := v.server(server)
			if s == nil {
				return nil
			}
			return []*Server{s}
		}
	}
	var named []*Server
	for _, s := range servers {
		if v.namesServer(kind, s, name) {
			named = append(named, s)
		}
	}
	if named != nil {
		return named
	}
	return servers
}

// namesServer reports whether a name begins like the names of the server's items.
func (v *View) namesServer(kind protocol.ItemKind, s *Server, name string) bool {
	if kind == protocol.Resources || kind == protocol.Templates {
		return strings.HasPrefix(name, s.Name+"_")
	}
	space := v.snapshot.naming.Namespace
	if space.Mode != modeNever && strings.HasPrefix(name, prefix(s)+space.Separator) {
		return true
	}
	rest, ok := strings.CutPrefix(name, s.Name)
	if !ok {
		return false
	}
	for _, separator := range separators {
		if strings.HasPrefix(rest, separator) {
			return true
		}
	}
	return false
}

// server returns the server with that name if it is in view; else nil.
func (v *View) server(name string) *Server {
	for _, s := range v.servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Silent returns the servers in view that may change their list of that kind without notice. Such a list is fetched again
// when a client requests it. The caller must not modify the slice.
func (v *View) Silent(kind protocol.ItemKind) []*Server { return v.silent[kind] }

// isSilent reports whether the server may change its list of that kind without notice.
func (s *Snapshot) isSilent(server *Server, kind protocol.ItemKind) bool {
	o := s.byName[server.Name]
	return o != nil && o.silent[kind]
}

// IsSilent reports whether the server may change its list of that kind without notice.
func (v *View) IsSilent(server *Server, kind protocol.ItemKind) bool {
	return v.snapshot.isSilent(server, kind)
}

// findSilent records the silent servers in view.
func (v *View) findSilent() {
	for kind := range v.silent {
		for _, s := range v.servers {
			if v.snapshot.isSilent(s, protocol.ItemKind(kind)) {
				v.silent[kind] = append(v.silent[kind], s)
			}
		}
	}
}
