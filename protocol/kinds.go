package protocol

// ItemKind is one of the four kinds of things a server lists.
type ItemKind uint8

const (
	Tools ItemKind = iota
	Prompts
	Resources
	Templates

	ItemKinds = 4 // how many there are; sizes arrays indexed by ItemKind
)

// String returns "tools", "prompts", "resources" or "templates".
func (k ItemKind) String() string {
	return [ItemKinds]string{"tools", "prompts", "resources", "templates"}[k]
}

// ListMethod returns the method that lists items of the kind.
func (k ItemKind) ListMethod() Method {
	return [ItemKinds]Method{MethodToolsList, MethodPromptsList, MethodResourcesList, MethodTemplatesList}[k]
}

// ChangedMethod returns the notification that says the list has changed. Templates have none of their own:
// notifications/resources/list_changed stands for both.
func (k ItemKind) ChangedMethod() Method {
	return [ItemKinds]Method{
		NotificationToolsListChanged, NotificationPromptsListChanged,
		NotificationResourcesListChanged, NotificationResourcesListChanged,
	}[k]
}

// ResultKey returns the member of a list result that holds the items.
func (k ItemKind) ResultKey() string {
	return [ItemKinds]string{"tools", "prompts", "resources", "resourceTemplates"}[k]
}
