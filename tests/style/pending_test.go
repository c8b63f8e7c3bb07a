package style

import (
	"path"
	"slices"
)

// pending are the directories that do not keep the rules yet. A directory is removed from the list once it does.
var pending = []string{}

func isPending(file string) bool {
	return !*all && slices.Contains(pending, path.Dir(file))
}
