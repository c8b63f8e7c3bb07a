package meta

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol"
)

// realServers returns a fixture with the catalogs in testdata: all items that 13 real servers list.
func realServers(t testing.TB) *fixture {
	text, err := os.ReadFile("testdata/catalogs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]*[protocol.ItemKinds][]string{}
	for line := range bytes.Lines(text) {
		var l struct {
			Server, Kind string
			Item         json.RawMessage
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if items[l.Server] == nil {
			items[l.Server] = new([protocol.ItemKinds][]string)
		}
		kind := slices.Index(kindNames[:], l.Kind)
		items[l.Server][kind] = append(items[l.Server][kind], string(l.Item))
	}
	d := newFixture(t)
	for server, kinds := range items {
		for kind, list := range kinds {
			d.has(server, protocol.ItemKind(kind), list...)
		}
	}
	d.publish()
	return d
}

// question is a request in plain words and the items that serve it, as server/name.
type question struct {
	text    string
	answers []string
}

func questionsOf(t testing.TB, file string) (list []question) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, answers, ok := strings.Cut(line, " = ")
		if !ok {
			t.Fatalf("%s: %q has no answers", file, line)
		}
		list = append(list, question{text, strings.Fields(answers)})
	}
	return list
}

// place returns the rank of the first acceptable answer, starting at 1, or 0 if there is none, and the results of the
// search.
func (d *fixture) place(q question) (place int, found []string) {
	for i, c := range d.page("", searchCatalog, fmt.Sprintf(`{"query":%q}`, q.text)).Items {
		name := c.Server + "/" + strings.TrimPrefix(c.Name, c.Server+"_")
		found = append(found, name)
		if place == 0 && slices.Contains(q.answers, name) {
			place = i + 1
		}
	}
	return place, found
}

// Questions in plain words find the right tool. The minimums are the numbers of right answers that the ranking has
// reached; docs/bench.md describes the measurement.
func TestSearchQuality(t *testing.T) {
	d := realServers(t)
	for _, c := range []struct {
		file         string
		first, three int // minimum number of questions answered in first place, and in the first three
	}{
		{"testdata/questions.txt", 52, 58},
		{"testdata/questions-more.txt", 215, 252},
		{"testdata/questions-held-out.txt", 21, 27},
	} {
		questions := questionsOf(t, c.file)
		first, three := 0, 0
		for _, q := range questions {
			place, found := d.place(q)
			if place == 1 {
				first++
			}
			if 1 <= place && place <= 3 {
				three++
			}
			if place != 1 {
				t.Logf("%2d %q: %s (want %s)", place, q.text, strings.Join(found[:min(4, len(found))], " "), strings.Join(q.answers, " "))
			}
		}
		t.Logf("%s: %d questions; the right item is first for %d and among the first three for %d", c.file, len(questions), first, three)
		if first < c.first || three < c.three {
			t.Errorf("%s: first %d, among three %d; want at least %d and %d", c.file, first, three, c.first, c.three)
		}
	}
}
