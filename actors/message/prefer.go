package message

import (
	"maps"
	"slices"
	"strings"
)

// Prefer selects the replicas a client prefers for its request: those with all these labels. It is immutable.
type Prefer struct {
	Labels   map[string]string
	Required bool // use no other replica
}

// IsMetBy reports whether a replica with these labels is preferred.
func (p *Prefer) IsMetBy(labels map[string]string) bool {
	for key, value := range p.Labels {
		if has, ok := labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// String returns the labels for messages.
func (p *Prefer) String() string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		list = append(list, key+"="+p.Labels[key])
	}
	return strings.Join(list, ", ")
}
