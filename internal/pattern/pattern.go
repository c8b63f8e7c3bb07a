// Package pattern compiles regular expressions on first use. Most runs of the program use few of its expressions;
// compiling all of them took a millisecond and a quarter of the memory at startup.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles expression on its first call, and then returns the same result. It panics if
// expression is not valid.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
