package catalog

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
)

// Rights are evaluated with the policy in their key, whatever policy the snapshot has. A key without a policy uses
// the snapshot's. The same holds for projects, unions of projects and single servers.
func TestRightsUseTheirPolicy(t *testing.T) {
	enforced := func(roles ...config.Role) *policy.Policy {
		return policy.Compile(config.Policy{Present: true, Mode: "enforce", Roles: roles})
	}
	narrow := enforced(config.Role{Name: "r", Tools: allows("files_a")}, config.Role{Name: "s"})
	wide := enforced(config.Role{Name: "r"}, config.Role{Name: "s", Tools: allows("files_b")})
	inside := enforced(config.Role{Name: "r", Projects: []string{"alpha"}})
	reports := policy.Compile(config.Policy{Present: true, Mode: "report", Roles: []config.Role{{Name: "r", Tools: allows("files_a")}}})
	for name, of := range map[string]*policy.Policy{"none": nil, "narrow": narrow, "wide": wide, "reports": reports} {
		naming := standard(stylePrefix)
		naming.Policy = of
		s := projects(nil, naming, []*offered{server(t, "files", 0).tools("a", "b"), server(t, "other", 1).tools("c")},
			config.Project{Name: "alpha", Servers: []string{"files"}}, config.Project{Name: "beta", Servers: []string{"other"}})
		bare := map[string]string{"none": "files_a files_b other_c", "narrow": "files_a", "wide": "files_a files_b other_c", "reports": "files_a files_b other_c"}
		for range 2 {
			for _, tt := range []struct {
				key  Key
				want string
			}{
				{Key{Rights: "r", Policy: narrow}, "files_a"}, {Key{Rights: "r", Policy: wide}, "files_a files_b other_c"}, {Key{Rights: "r"}, bare[name]},
				{Key{Rights: "s", Policy: narrow}, "files_a files_b other_c"}, {Key{Rights: "s", Policy: wide}, "files_b"}, {Key{Rights: "-", Policy: wide}, ""},
				{Key{Rights: "r", Policy: reports}, "files_a files_b other_c"}, {Key{Rights: "r", Policy: inside}, ""},
				{Key{Rights: "r", Policy: narrow, Project: "alpha"}, "files_a"}, {Key{Rights: "r", Policy: inside, Project: "alpha"}, "files_a files_b"},
				{Key{Rights: "r", Policy: inside, Project: "beta"}, "none"}, {Key{Rights: "r", Policy: inside, Projects: "alpha,beta"}, "files_a files_b"},
				{Key{Rights: "r", Policy: wide, Projects: "alpha,beta"}, "files_a files_b other_c"}, {Key{Rights: "r", Policy: narrow, Server: "files"}, "a"},
				{Key{Rights: "r", Policy: inside, Projects: "alpha", Server: "files"}, "a b"}, {Key{Rights: "r", Policy: narrow, Server: "other"}, ""},
			} {
				got := "none"
				if v, ok := s.View(tt.key); ok {
					got = strings.Join(listed(t, v, protocol.Tools), " ")
				}
				if got != tt.want {
					t.Errorf("under %s, %+v: got %s, want %s", name, tt.key, got, tt.want)
				}
			}
		}
		if in, out := (Key{Rights: "r", Policy: inside, Project: "alpha"}), (Key{Rights: "r", Policy: inside, Project: "beta"}); !s.HasProject(in) || s.HasProject(out) {
			t.Errorf("under %s: HasProject must be true for alpha and false for beta", name)
		}
	}
}
