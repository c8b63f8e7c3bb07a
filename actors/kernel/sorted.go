package kernel

import (
	"maps"
	"slices"
)

// SortedKeys returns the keys of m in ascending order. A step iterates over them where the order of its effects
// matters, because it must not depend on the order of a map.
func SortedKeys[V any](m map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(m)) }
