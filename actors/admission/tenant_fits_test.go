package admission

import (
	"net/http"
	"reflect"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/fieldtest"
	"goblin-actor/protocol/downstream"
)

// After a reload, a tenant fits only if a request of the same client would get an equal one, whichever setting has changed.
func TestTenantFitsOnlyEqualSettings(t *testing.T) {
	x := &downstream.Exchange{Origin: downstream.Origin{Forwarded: http.Header{"X-Token": {"1"}}}}
	caller := &message.Caller{ClientKey: "session-1", Principal: "key:anna"}
	token := []config.ForwardHeader{{From: "X-Token", To: "X-Token"}}
	for name, base := range map[string]config.Server{
		"shared":         {Isolation: "shared"},
		"class":          {Isolation: "class", ForwardHeaders: token},
		"principal":      {Isolation: "principal", Auth: config.ServerAuth{As: "principal"}},
		"session":        {Isolation: "session"},
		"session, login": {Isolation: "session", Auth: config.ServerAuth{As: "principal"}, ForwardHeaders: token},
	} {
		t.Run(name, func(t *testing.T) {
			tenant := TenantOf(&base, x, caller)
			if !tenant.Fits(&base) {
				t.Fatal("the tenant does not fit its own settings")
			}
			fieldtest.Noticed(t, base, nil, func(_ string, changed config.Server) bool {
				return !tenant.Fits(&changed) || reflect.DeepEqual(TenantOf(&changed, x, caller), tenant)
			})
		})
	}
}
