package protocol

// ItemKind is one of the four kinds of things a server lists.
type ItemKind uint8

// What a server lists; arrays over ItemKind are in this order.
const (
	Tools ItemKind = iota
	Prompts
	Resources
	Templates

	ItemKinds = 4 // how many there are; sizes arrays indexed by ItemKind
)

// kinds is what tells the kinds apart.
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

// ChangedMethod returns the notification that says the list has changed. Templates have none of their own:
// notifications/resources/list_changed stands for both.
func (k ItemKind) ChangedMethod() Method { return kinds[k].changed }

// ResultKey returns the member of a list result that holds the items.
func (k ItemKind) ResultKey() string { return kinds[k].resultKey }

// Lists returns the kind that a method lists; false for methods that list nothing.
func (m Method) Lists() (ItemKind, bool) {
	for k := range ItemKind(ItemKinds) {
		if kinds[k].list == m {
			return k, true
		}
	}
	return 0, false
}
