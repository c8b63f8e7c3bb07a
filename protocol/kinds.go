package protocol

// ItemKind is one of the four kinds of items that a server lists.
type ItemKind uint8

// The item kinds. Arrays indexed by ItemKind are in this order.
const (
	Tools ItemKind = iota
	Prompts
	Resources
	Templates

	ItemKinds = 4 // the number of kinds, for arrays indexed by ItemKind
)

// kinds describes each kind.
var kinds = [ItemKinds]struct {
	name, resultKey string
	list, changed   Method
}{
	Tools:     {"tools", "tools", MethodToolsList, NotificationToolsListChanged},
	Prompts:   {"prompts", "prompts", MethodPromptsList, NotificationPromptsListChanged},
	Resources: {"resources", "resources", MethodResourcesList, NotificationResourcesListChanged},
	Templates: {"templates", "resourceTemplates", MethodTemplatesList, NotificationResourcesListChanged},
}

// String returns "tools", "prompts", "resources" or "templates".
func (k ItemKind) String() string { return kinds[k].name }

// ListMethod returns the method that lists items of the kind.
func (k ItemKind) ListMethod() Method { return kinds[k].list }

// ChangedMethod returns the notification for a changed list. Resources and templates share
// notifications/resources/list_changed.
func (k ItemKind) ChangedMethod() Method { return kinds[k].changed }

// ResultKey returns the key of the items in a list result.
func (k ItemKind) ResultKey() string { return kinds[k].resultKey }

// Lists returns the kind of items that the method lists, and whether it is a list method.
func (m Method) Lists() (ItemKind, bool) {
	for k := range ItemKind(ItemKinds) {
		if kinds[k].list == m {
			return k, true
		}
	}
	return 0, false
}
