package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

const contrib = "../../contrib"

// boards are the names of the dashboards in contrib/grafana.
var boards = []string{"overview", "server"}

// board is the part of a Grafana dashboard that the tests read.
type board struct {
	UID, Title string
	Templating struct{ List []variable }
	Panels     []panel
}

type variable struct {
	Name, Type, Definition string
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []target
	Options                  struct {
		Legend struct{ ShowLegend bool }
	}
	Transformations []struct {
		Options struct {
			ExcludeByName map[string]bool
			IndexByName   map[string]int
			RenameByName  map[string]string
		}
	}
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []step }
			Mappings   []struct {
				Options map[string]struct{ Text string }
			}
			Custom struct{ Stacking struct{ Mode string } }
		}
		Overrides []struct {
			Properties []struct {
				ID    string
				Value json.RawMessage
			}
		}
	}
}

type target struct {
	RefID, Expr, LegendFormat string
	Instant                   bool
}

type step struct {
	Color string
	Value *float64
}

func readBoard(t *testing.T, name string) (b board) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(contrib, "grafana", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatalf("%s.json: %v", name, err)
	}
	return b
}

// Each panel has a unique id, a title, a description and queries. Panels do not overlap and lie within the dashboard's width of 24 cells.
func TestPanelsAreComplete(t *testing.T) {
	for _, name := range boards {
		b := readBoard(t, name)
		used, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range b.Panels {
			if used[p.ID] || p.ID == 0 || p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d %q: want a unique id, a title, a description and queries", name, p.ID, p.Title)
			}
			used[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
						t.Errorf("%s: panel %q overlaps %q at %d,%d", name, p.Title, other, x, y)
					}
					cells[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

// The queries of dashboards and alerts use only metrics that the gateway has, and only labels that these metrics have.
func TestQueriesUseExistingMetrics(t *testing.T) {
	for _, name := range boards {
		b := readBoard(t, name)
		for _, v := range b.Templating.List {
			checkQuery(t, name+", variable "+v.Name, v.Definition)
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				checkQuery(t, name+", panel "+p.Title, q.Expr)
			}
		}
	}
	for _, r := range readRules(t) {
		checkQuery(t, "alert "+r.Alert, r.Expr)
	}
}

// scraped are labels that Prometheus adds.
var scraped = []string{"job", "instance"}

var (
	metricName = regexp.MustCompile(`\b(?:goblin|mcp|process|go)_[a-z0-9_]+\b|\bup\b`)
	selector   = regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"[^"]*"`)
	grouping   = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
)

// checkQuery checks the names of metrics and labels in a query. It does not parse PromQL: TestLive has Prometheus do that.
func checkQuery(t *testing.T, where, query string) {
	t.Helper()
	all := slices.Concat(scraped, []string{"le"}) // the labels of all metrics of the query
	families := map[string]status.Family{}
	for _, name := range metricName.FindAllString(quoted.ReplaceAllString(withoutGroups(query), `""`), -1) {
		f, known := familyOf(name)
		if !known {
			t.Errorf("%s: the gateway has no metric %s", where, name)
		}
		families[name] = f
		all = append(all, f.Labels...)
	}
	for _, m := range selector.FindAllStringSubmatch(query, -1) {
		for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
			if f := families[m[1]]; !slices.Contains(f.Labels, label[1]) && !slices.Contains(scraped, label[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], label[1])
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			if label = strings.TrimSpace(label); label != "" && !slices.Contains(all, label) {
				t.Errorf("%s: no metric of the query has the label %s", where, label)
			}
		}
	}
}

// withoutGroups returns a query without its label matchers and grouping clauses.
func withoutGroups(query string) string {
	query = grouping.ReplaceAllString(query, "")
	return selector.ReplaceAllString(query, "$1")
}

// familyOf returns the family of a metric, whose name may have the suffix of a histogram, and whether the metric exists. The metrics up, process_…
// and go_… exist, but are in no family.
func familyOf(name string) (status.Family, bool) {
	for _, f := range status.Families() {
		if name == f.Name && f.Type != "histogram" {
			return f, true
		}
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if f.Type == "histogram" && name == f.Name+suffix {
				return f, true
			}
		}
	}
	return status.Family{}, name == "up" || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "go_")
}
