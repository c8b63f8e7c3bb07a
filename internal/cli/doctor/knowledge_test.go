package doctor

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
)

// Every rule is complete, explains its own example, and uses placeholders that exist.
func TestKnowledge(t *testing.T) {
	placeholder := regexp.MustCompile(`%\d|\{[a-z]+\}`)
	known := []string{"%1", "{name}", "{program}", "{run}", "{install}", "{path}", "{endpoint}"}
	for i, r := range knowledge {
		if r.cause == "" || r.fix == "" || r.example == "" {
			t.Errorf("rule %d (%s): cause, fix and example must not be empty", i, r.pattern())
			continue
		}
		for _, text := range []string{r.cause, r.fix} {
			for _, p := range placeholder.FindAllString(text, -1) {
				if !slices.Contains(known, p) {
					t.Errorf("rule %d (%s): unknown placeholder %s", i, r.pattern(), p)
				}
				if p == "%1" && r.pattern().NumSubexp() == 0 {
					t.Errorf("rule %d (%s): %%1 without a group in the pattern", i, r.pattern())
				}
			}
			if strings.HasSuffix(text, ".") {
				t.Errorf("rule %d (%s): %q ends with a full stop", i, r.pattern(), text)
			}
		}
		s := symptom{server: config.Server{Name: "files", Command: "npx"}, command: []string{"npx"}, state: "waiting", reason: r.example}
		if r.kind == remote {
			s.server = config.Server{Name: "files", URLs: []string{"https://mcp.example.com"}}
		}
		found := r.pattern().FindStringSubmatch(r.example)
		if found == nil {
			t.Errorf("rule %d (%s) does not match its example %q", i, r.pattern(), r.example)
			continue
		}
		cause, fix := s.diagnose()
		if want := s.fill(r.cause, found); cause != want {
			t.Errorf("rule %d: an earlier rule explains %q: %q, want %q", i, r.example, cause, want)
		}
		if strings.Contains(cause+fix, "%1") || placeholder.MatchString(strings.NewReplacer("{Authorization", "", "{Accept", "", "${", "").Replace(cause+fix)) {
			t.Errorf("rule %d: placeholders remain in %q, %q", i, cause, fix)
		}
	}
}

// Each program has one entry.
func TestInstallations(t *testing.T) {
	seen := map[string]bool{}
	for _, one := range installations {
		for _, program := range strings.Fields(one.programs) {
			if seen[program] {
				t.Errorf("%s has two entries", program)
			}
			seen[program] = true
			if got := installHint("/usr/bin/" + program); got != one.how {
				t.Errorf("installHint(%s) = %q, want %q", program, got, one.how)
			}
		}
	}
	if got := installHint("something-else"); got != "install it" {
		t.Errorf("installHint of an unknown program = %q", got)
	}
}
