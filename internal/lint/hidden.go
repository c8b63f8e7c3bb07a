package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/visible"
)

// maxHidden is the maximum number of texts with invisible characters that are reported for one definition.
const maxHidden = 5

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// hiddenCharacters returns JSON pointers to the keys and texts of a definition that contain invisible characters, at
// most maxHidden.
func hiddenCharacters(raw []byte) (pointers []string) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	var walk func(value any, pointer string)
	walk = func(value any, pointer string) {
		if len(pointers) >= maxHidden {
			return
		}
		switch v := value.(type) {
		case string:
			if visible.Contains(v) {
				pointers = append(pointers, pointer)
			}
		case []any:
			for i, element := range v {
				walk(element, pointer+"/"+strconv.Itoa(i))
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				at := pointer + "/" + pointerEscapes.Replace(key)
				walk(key, at)
				if !visible.Contains(key) {
					walk(v[key], at)
				}
			}
		}
	}
	walk(value, "")
	return pointers
}
