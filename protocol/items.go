package protocol

import "goblin-actor/protocol/rawjson"

// Keys of a listed item, in the order of itemKeys.
const (
	itemName field = iota + 1
	itemURI
	itemURITemplate
	itemMeta
	itemTitle
	itemDescription
	itemMIMEType
	itemAnnotations
	itemInputSchema
	itemSize
)

var itemKeys = newKeys(findItem, "name", "uri", "uriTemplate", "_meta", "title", "description", "mimeType", "annotations",
	"inputSchema", "size")

func findItem(key []byte) field {
	switch string(key) {
	case "name":
		return itemName
	case "uri":
		return itemURI
	case "uriTemplate":
		return itemURITemplate
	case "_meta":
		return itemMeta
	case "title":
		return itemTitle
	case "description":
		return itemDescription
	case "mimeType":
		return itemMIMEType
	case "annotations":
		return itemAnnotations
	case "inputSchema":
		return itemInputSchema
	case "size":
		return itemSize
	}
	return 0
}

// Items calls each with every item of the list, an array in a parsed frame, until each returns false. Items share raw's
// memory. Items skips elements that ParseItem refuses and returns the first such error at the end, so that one bad item
// does not hide the others. It returns ErrShape if the span is not an array.
func Items(raw []byte, list rawjson.Span, each func(Item) bool) error {
	if !list.Present() || raw[list.Off] != '[' {
		return fault(ErrShape, int(list.Off), "the list is "+rawjson.TypeName(raw, list)+"; an array was expected")
	}
	var first error
	for w := rawjson.WalkElements(raw, list); w.Next(); {
		item, err := ParseItem(w.Value.Of(raw))
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if !each(item) {
			break
		}
	}
	return first
}

// ParseItem finds the members of a listed item. raw must be valid JSON. Null members count as absent. Types are not checked.
// It fails with ErrShape if raw is not an object, and with ErrDuplicate if a known key occurs twice.
func ParseItem(raw []byte) (Item, error) {
	item := Item{Raw: raw}
	object := rawjson.Whole(raw)
	if !object.Present() || raw[0] != '{' {
		return Item{}, fault(ErrShape, 0, "an item in the list is "+rawjson.TypeName(raw, object)+"; an object was expected")
	}
	var seen keysSeen
	for w := rawjson.WalkMembers(raw, object); w.Next(); {
		field := itemKeys.note(&seen, w.Key)
		if seen.twice {
			return Item{}, fault(ErrDuplicate, w.KeyAt, "an item in the list has a member twice")
		}
		if field != 0 && raw[w.Value.Off] != 'n' {
			*item.member(field) = w.Value
		}
	}
	return item, nil
}

func (t *Item) member(f field) *rawjson.Span {
	switch f {
	case itemName:
		return &t.Name
	case itemURI:
		return &t.URI
	case itemURITemplate:
		return &t.URITemplate
	case itemMeta:
		return &t.Meta
	case itemTitle:
		return &t.Title
	case itemDescription:
		return &t.Description
	case itemMIMEType:
		return &t.MIMEType
	case itemAnnotations:
		return &t.Annotations
	case itemInputSchema:
		return &t.InputSchema
	}
	return &t.Size
}
