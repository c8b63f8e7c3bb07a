package style

import (
	"path"
	"slices"
)

// pending lists the directories that do not follow the rules yet.
var pending = []string{}

func isPending(file string) bool {
	return !*all && slices.Contains(pending, path.Dir(file))
}
