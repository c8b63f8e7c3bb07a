package conformance

import (
	"fmt"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

// entry lists scenarios that do not pass in some runs, with the reason. Names may contain * as in path.Match.
type entry struct {
	Scenarios []string `yaml:"scenarios"`
	Legs      []string `yaml:"legs"`
	Suites    []string `yaml:"suites"`   // none = both
	Versions  []string `yaml:"versions"` // none = all
	Result    verdict  `yaml:"result"`   // fails (the default) or warns
	Reason    string   `yaml:"reason"`

	used bool
}

// baseline lists all scenarios that are known not to pass.
type baseline struct{ entries []*entry }

func readBaseline(t *testing.T) *baseline {
	t.Helper()
	raw, err := os.ReadFile("baseline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseBaseline(raw)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parseBaseline(raw []byte) (*baseline, error) {
	b := &baseline{}
	if err := yaml.UnmarshalWithOptions(raw, &b.entries, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("baseline.yaml: %w", err)
	}
	for i, e := range b.entries {
		if len(e.Scenarios) == 0 || len(e.Legs) == 0 || e.Reason == "" {
			return nil, fmt.Errorf("baseline.yaml: entry %d: scenarios, legs and reason are required", i+1)
		}
		switch e.Result {
		case "":
			e.Result = fails
		case fails, warns:
		default:
			return nil, fmt.Errorf("baseline.yaml: entry %d: result must be fails or warns", i+1)
		}
	}
	return b, nil
}

// matches reports whether the entry applies to a scenario of a run.
func (e *entry) matches(o outcome, scenario string) bool {
	return among(e.Scenarios, scenario) && among(e.Legs, o.leg) &&
		(len(e.Suites) == 0 || among(e.Suites, string(o.suite))) && (len(e.Versions) == 0 || among(e.Versions, o.version))
}

func among(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil })
}

// compare returns a sentence for each scenario of a run that differs from the baseline. It marks the entries that apply
// as used.
func (b *baseline) compare(o outcome) (faults []string) {
	for _, r := range o.results {
		want, reason := passes, ""
		for _, e := range b.entries {
			if e.matches(o, r.scenario) {
				e.used = true
				want, reason = e.Result, e.Reason
			}
		}
		switch got := r.verdict(); {
		case got == want:
		case want == passes:
			faults = append(faults, fmt.Sprintf("%s %s %s: %s %s: %s", o.leg, o.suite, o.version, r.scenario, got, r.why()))
		default:
			faults = append(faults, fmt.Sprintf("%s %s %s: %s %s; baseline.yaml says it %s (%s): fix the entry", o.leg, o.suite, o.version, r.scenario, got, want, reason))
		}
	}
	return faults
}

// unused fails t for each entry that applies to no scenario that was run.
func (b *baseline) unused(t *testing.T) {
	t.Helper()
	for _, e := range b.entries {
		if !e.used {
			t.Errorf("baseline.yaml: no run has %q on %q: remove the entry", e.Scenarios, e.Legs)
		}
	}
}

// compare reports every difference from the baseline and marks the entries that apply. An invalid baseline is rejected.
func TestBaselineComparison(t *testing.T) {
	b, err := parseBaseline([]byte(`
- {scenarios: [bad, "auth/*"], legs: ["legacy-*"], reason: not built}
- {scenarios: [so-so], legs: ["*"], versions: [2025-11-25], result: warns, reason: slow}
- {scenarios: [never], legs: ["*"], reason: gone}
`))
	if err != nil {
		t.Fatal(err)
	}
	bad, warning := result{failed: []string{"x: y"}}, result{warned: []string{"x: y"}}
	for _, c := range []struct {
		leg, version, scenario string
		result                 result
		faults                 int
	}{
		{"legacy-stdio", "2025-06-18", "good", result{}, 0},
		{"legacy-stdio", "2025-06-18", "good", bad, 1},
		{"legacy-stdio", "2025-06-18", "good", warning, 1},
		{"legacy-stdio", "2025-06-18", "bad", bad, 0},
		{"legacy-stdio", "2025-06-18", "bad", result{}, 1},
		{"legacy-stdio", "2025-06-18", "bad", warning, 1},
		{"legacy-http", "2025-06-18", "auth/one", bad, 0},
		{"direct", "2025-06-18", "bad", bad, 1},
		{"direct", "2025-11-25", "so-so", warning, 0},
		{"direct", "2025-11-25", "so-so", bad, 1},
		{"direct", "2025-06-18", "so-so", warning, 1},
	} {
		c.result.scenario = c.scenario
		if faults := b.compare(outcome{c.leg, next, c.version, []result{c.result}}); len(faults) != c.faults {
			t.Errorf("%s %s %s %s: got %q, want %d differences", c.leg, c.version, c.scenario, c.result.verdict(), faults, c.faults)
		}
	}
	if !b.entries[0].used || !b.entries[1].used || b.entries[2].used {
		t.Error("the wrong entries are marked as used")
	}
	for _, wrong := range []string{"- {scenarios: [a], legs: [b]}", "- {scenario: [a]}", "- {scenarios: [a], legs: [b], reason: c, result: odd}"} {
		if _, err := parseBaseline([]byte(wrong)); err == nil {
			t.Errorf("invalid baseline accepted: %s", wrong)
		}
	}
}
