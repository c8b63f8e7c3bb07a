package protocol

import (
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestMethods(t *testing.T) {
	for m := MethodOther + 1; m < methodCount; m++ {
		if got := ParseMethod([]byte(m.String())); got != m {
			t.Errorf("ParseMethod(%q) = %d, want %d", m, got, m)
		}
	}
	for _, name := range []string{"", "other", "Tools/call", "tools/call ", "notifications/", "vendor/x"} {
		if got := ParseMethod([]byte(name)); got != MethodOther {
			t.Errorf("ParseMethod(%q) = %v", name, got)
		}
	}
	if MethodOther.String() != "other" || Method(255).String() != "other" {
		t.Error("String of an unknown method is not other")
	}
	if n := testing.AllocsPerRun(100, func() { ParseMethod([]byte("notifications/resources/list_changed")) }); n != 0 {
		t.Errorf("ParseMethod: %v allocations", n)
	}
}

// The names agree with those of another implementation.
func TestMethodNames(t *testing.T) {
	for m, want := range map[Method]mcp.MCPMethod{
		MethodInitialize: mcp.MethodInitialize, MethodPing: mcp.MethodPing, MethodToolsList: mcp.MethodToolsList, MethodToolsCall: mcp.MethodToolsCall,
		MethodPromptsList: mcp.MethodPromptsList, MethodPromptsGet: mcp.MethodPromptsGet, MethodResourcesList: mcp.MethodResourcesList,
		MethodTemplatesList: mcp.MethodResourcesTemplatesList, MethodResourcesRead: mcp.MethodResourcesRead,
		MethodResourcesSubscribe: mcp.MethodResourcesSubscribe, MethodResourcesUnsubscribe: mcp.MethodResourcesUnsubscribe,
		MethodCompletionComplete: mcp.MethodCompletionComplete, MethodLoggingSetLevel: mcp.MethodSetLogLevel,
		MethodServerDiscover: mcp.MethodServerDiscover, MethodSubscriptionsListen: mcp.MethodSubscriptionsListen,
		MethodSamplingCreateMessage: mcp.MethodSamplingCreateMessage, MethodElicitationCreate: mcp.MethodElicitationCreate, MethodRootsList: mcp.MethodListRoots,
		MethodTasksGet: mcp.MethodTasksGet, MethodTasksResult: mcp.MethodTasksResult, MethodTasksCancel: mcp.MethodTasksCancel, MethodTasksList: mcp.MethodTasksList,
		NotificationInitialized: mcp.MethodNotificationInitialized, NotificationCancelled: mcp.MethodNotificationCancelled,
		NotificationProgress: mcp.MethodNotificationProgress, NotificationMessage: mcp.MethodNotificationMessage,
		NotificationToolsListChanged: mcp.MethodNotificationToolsListChanged, NotificationPromptsListChanged: mcp.MethodNotificationPromptsListChanged,
		NotificationResourcesListChanged: mcp.MethodNotificationResourcesListChanged, NotificationResourcesUpdated: mcp.MethodNotificationResourceUpdated,
		NotificationRootsListChanged: mcp.MethodNotificationRootsListChanged, NotificationElicitationComplete: mcp.MethodNotificationElicitationComplete,
		NotificationSubscriptionsAcknowledged: mcp.MethodNotificationSubscriptionsAcknowledged, NotificationTasksStatus: mcp.MethodNotificationTasksStatus,
	} {
		if m.String() != string(want) {
			t.Errorf("%d is %q, want %q", m, m, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for k, want := range map[ItemKind][4]string{
		Tools:     {"tools", "tools/list", "notifications/tools/list_changed", "tools"},
		Prompts:   {"prompts", "prompts/list", "notifications/prompts/list_changed", "prompts"},
		Resources: {"resources", "resources/list", "notifications/resources/list_changed", "resources"},
		Templates: {"templates", "resources/templates/list", "notifications/resources/list_changed", "resourceTemplates"}, // C7
	} {
		if got := [4]string{k.String(), k.ListMethod().String(), k.ChangedMethod().String(), k.ResultKey()}; got != want {
			t.Errorf("kind %d: %v, want %v", k, got, want)
		}
	}
}

// The derived sets of methods are listed in full here, so that an error in a row of the table is detected.
func TestMethodTable(t *testing.T) {
	lists := []Method{MethodToolsList, MethodPromptsList, MethodResourcesList, MethodTemplatesList}
	named := []Method{MethodToolsCall, MethodPromptsGet, MethodResourcesRead}
	tasks := []Method{MethodTasksGet, MethodTasksUpdate, MethodTasksCancel}
	for what, test := range map[string]struct {
		of   func(Method) bool
		want []Method
	}{
		"modern clients ask":        {modernRequest, slices.Concat(lists, named, tasks, []Method{MethodCompletionComplete, MethodServerDiscover, MethodSubscriptionsListen})},
		"only modern clients ask":   {modernOnly, []Method{MethodServerDiscover, MethodSubscriptionsListen}},
		"may carry Mcp-Name":        {mayCarryName, slices.Concat(named, tasks)},
		"must carry Mcp-Name":       {demandsName, named},
		"may require input":         {Method.MayRequireInput, named},
		"say how long they hold":    {func(m Method) bool { return m.is(cached) }, slices.Concat(lists, []Method{MethodServerDiscover, MethodResourcesRead})},
		"may not be sent twice":     {func(m Method) bool { return !m.Repeatable() }, []Method{MethodOther, MethodToolsCall}},
		"list":                      {func(m Method) bool { return m.Owner() == OwnerCatalog }, lists},
		"list a kind":               {func(m Method) bool { _, ok := m.Lists(); return ok }, lists},
		"are asked by servers":      {func(m Method) bool { return m.Owner() == OwnerClient }, []Method{MethodSamplingCreateMessage, MethodElicitationCreate, MethodRootsList}},
		"go to the owner of a task": {func(m Method) bool { return m.Owner() == OwnerTasks }, slices.Concat(tasks, []Method{MethodTasksResult, MethodTasksList})},
		"have no answer":            {func(m Method) bool { return m.Owner() == OwnerNone }, append(notifications(), MethodOther)},
	} {
		for m := range methodCount {
			if got, want := test.of(m), slices.Contains(test.want, m); got != want {
				t.Errorf("%s: %v is %v, want %v", what, m, got, want)
			}
		}
	}
}

func notifications() (all []Method) {
	for m := NotificationInitialized; m < methodCount; m++ {
		all = append(all, m)
	}
	return all
}
