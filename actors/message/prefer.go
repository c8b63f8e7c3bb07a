package message

import (
	"maps"
	"slices"
	"strings"
)

// Prefer says which replicas a client would rather have its request carried out by: those with all these labels. Nobody writes to it.
type Prefer struct {
	Labels   map[string]string
	Required bool // no other will do
}

// IsMetBy reports whether a replica with these labels is one of them.
func (p *Prefer) IsMetBy(labels map[string]string) bool {
	for key, value := range p.Labels {
		if has, ok := labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// String names the labels for people.
func (p *Prefer) String() string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		list = append(list, key+"="+p.Labels[key])
	}
	return strings.Join(list, ", ")
}
