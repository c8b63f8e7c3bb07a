package meta

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"

	"pgregory.net/rapid"
)

// S0.8.3: queries in everyday wordings find the right item first.
func TestSearchUnderstands(t *testing.T) {
	d := newFixture(t)
	d.has("s", protocol.Tools, described("delete_entities", "Delete entities from the graph."), described("create_issue", "Create an issue."),
		described("search_nodes", "Search entities."),
		described("browser_navigate", "Navigate to a URL."), described("get_time", "Current time."), described("write_file", "Write a file."),
		`{"name":"slow","annotations":{"title":"Hibernate"},"inputSchema":{"type":"object","properties":{"patience":{"type":"string","description":"How lazy to be",
			"enum":["tortoise","snail"]},"list":{"type":"array","items":{"type":"object","properties":{"innermost":{}}}}}}}`)
	d.has("s", protocol.Prompts, `{"name":"greet","arguments":[{"name":"salutation","description":"How to begin"}]}`)
	d.publish()
	for query, want := range map[string]string{
		"erase a person":            "s_delete_entities", // synonyms
		"get rid of a person":       "s_delete_entities", // a phrase
		"report a bug":              "s_create_issue",
		"visit the web page":        "s_browser_navigate", // a compound written as two words
		"go to https://example.com": "s_browser_navigate", // an address
		"open shop.example.org":     "s_browser_navigate",
		"what's the time":           "s_get_time", // a contraction
		"wrote report.pdf":          "s_write_file",
		"wirte a fiel":              "s_write_file", // typing errors
		"creat an isue":             "s_create_issue",
		"navgate":                   "s_browser_navigate",
		"deleet entitys":            "s_delete_entities",
		"look a person up":          "s_search_nodes", // a particle separated from its verb
		"hibernate":                 "s_slow",         // the title in the annotations
		"patience":                  "s_slow",         // names of parameters
		"innermost":                 "s_slow",
		"lazy":                      "s_slow", // their descriptions and values
		"snail":                     "s_slow",
		"salutation":                "s_greet",
	} {
		if got := d.found("", fmt.Sprintf(`{"query":%q}`, query)); len(got) == 0 || got[0] != want {
			t.Errorf("%q: found %v, want %s first", query, got, want)
		}
	}
}

// A word that documents contain is not corrected, and neither is a short word.
func TestKnownWordsAreNotCorrected(t *testing.T) {
	d := newFixture(t)
	d.has("s", protocol.Tools, described("alpha", "table"), described("beta", "cable"), described("gamma", "ox"))
	d.publish()
	for query, want := range map[string][]string{"cable": {"s_beta"}, "ax": nil, "tabel": {"s_alpha"}} {
		if got := d.found("", fmt.Sprintf(`{"query":%q}`, query)); !slices.Equal(got, want) {
			t.Errorf("%q: found %v, want %v", query, got, want)
		}
	}
}

// editDistance is the textbook implementation of the optimal string alignment distance.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			if i == 0 {
				rows[i][j] = j
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

func TestCloseTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 10, -1)
		a, b := word.Draw(t, "term"), word.Draw(t, "word")
		limit, ending := rapid.IntRange(0, 2).Draw(t, "limit"), rapid.IntRange(0, maxEnding).Draw(t, "ending")
		want := false
		for end := max(0, len(b)-ending); end <= len(b); end++ {
			want = want || editDistance(a, b[:end]) <= limit
		}
		if got := closeTo(a, b, limit, ending); got != want {
			t.Fatalf("%q %q within %d, ending %d: %v, want %v", a, b, limit, ending, got, want)
		}
	})
	if long := strings.Repeat("a", maxTerm+1); closeTo(long, long, 1, 0) {
		t.Error("terms longer than maxTerm are compared")
	}
}

// The cost of correcting a word is bounded, however many terms resemble it.
func TestSpellingIsBounded(t *testing.T) {
	s := spelling{}
	for i := range 2 * maxGroup {
		s.add(fmt.Sprintf("w%07d", i))
	}
	if n := len(s[spellingKey{'w', 8}]); n != maxGroup {
		t.Errorf("%d terms in one group, want %d", n, maxGroup)
	}
	if n := len(s.near("w0000000")); n != maxCorrections {
		t.Errorf("%d corrections, want %d", n, maxCorrections)
	}
}

func TestCutLiterals(t *testing.T) {
	for query, want := range map[string]string{
		"open https://a.example/b?c=d now": "open url now|https://a.example/b?c=d", "visit example.com": "visit url|example.com",
		"mail ann@example.com": "mail email|ann@example.com", "at 3 pm": "at time|3 pm", "at 14:30": "at time|14:30", "5 o'clock": "time|5 o'clock",
		"read notes.txt": "read file|notes.txt", "show pics/cat.PNG": "show image file|pics/cat.PNG", "list ~/docs": "list path|~/docs",
		"read and/or write": "read and/or write|", "version 2": "version 2|", "end. Start": "end. Start|", "e.g. this": "e.g. this|",
	} {
		rest, cut := cutLiterals(query)
		if got := strings.Join(strings.Fields(rest), " ") + "|" + strings.TrimSpace(cut); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// Each line of the table relates words, and each of its words can be looked up.
func TestSynonymTable(t *testing.T) {
	seen := map[string]int{}
	for i, line := range strings.Split(strings.TrimSuffix(synonymText, "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if before, ok := seen[line]; ok {
			t.Errorf("line %d repeats line %d: %s", i+1, before, line)
		}
		seen[line] = i + 1
		left, right, directed := strings.Cut(line, " > ")
		if n := len(strings.Fields(left)); n == 0 || n == 1 && !directed || directed && strings.TrimSpace(right) == "" {
			t.Errorf("line %d relates no words: %s", i+1, line)
		}
		for word := range strings.FieldsSeq(left + " " + right) {
			if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" && word != ">" {
				t.Errorf("line %d: %q is not a lower-case word", i+1, word)
			}
			if n := strings.Count(word, "_") + 1; n > maxPhrase {
				t.Errorf("line %d: %q has %d words, want at most %d", i+1, word, n, maxPhrase)
			}
		}
		for word := range strings.FieldsSeq(right) {
			if strings.Contains(word, "_") {
				t.Errorf("line %d: %q: documents have words, not phrases", i+1, word)
			}
		}
	}
	for _, c := range []struct {
		word, other string
		weight      float64
	}{{"eras", "delet", synonymWeight}, {"delet", "eras", synonymWeight}, {"hunger", "food", relatedWeight}, {"food", "hunger", 0}} {
		table := parseSynonyms("# x\ndelete erase\nhunger big_appetite > food\n")
		weight := 0.0
		for _, s := range table[c.word] {
			if s.term == c.other {
				weight = s.weight
			}
		}
		if weight != c.weight {
			t.Errorf("%s for %s counts %v, want %v", c.other, c.word, weight, c.weight)
		}
	}
	if len(parseSynonyms("big_appetite > food")["big appetit"]) != 1 {
		t.Error("a phrase is not found by its stems")
	}
}

// What is indexed of one item is bounded, whatever a server sends.
func TestDocumentsAreBounded(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"p":`, 500) + "{}" + strings.Repeat("}}", 500)
	var wide strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&wide, `%s"parameter%d":{"description":%q,"enum":["a","b"]}`, []string{",", ""}[min(1, max(0, 1-i))], i, strings.Repeat("word ", 200))
	}
	for _, schema := range []string{deep, `{"properties":{` + wide.String() + `}}`, `{"properties":[1,{"a":2}],"items":[[{}]]}`, `"text"`, `{"properties":{"a":null,"b":7}}`} {
		d := documentOf(&catalog.Entry{Source: fmt.Appendf(nil, `{"name":"n","description":%q,"inputSchema":%s}`, strings.Repeat("d ", 1<<16), schema), Original: "n", Server: &catalog.Server{Name: "s"}})
		if n := d.size(); n > 2*(maxText+2*(maxParameters+maxHeader)) {
			t.Errorf("%.40s: %d bytes", schema, n)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", " One. Two.": "One. ", "One\ntwo. Three": "One\n", "v1.2 of it. More": "v1.2 of it. ", "Just one": "Just one", "Really? Yes. No": "Really? "} {
		first, rest := firstSentence(text)
		if first != want || first+rest != strings.TrimSpace(text) {
			t.Errorf("%q: %q and %q, want %q first", text, first, rest, want)
		}
	}
}

// The fraction of a name that matches counts, without the server's name. On the server git, "commit" matches all of git_commit,
// but only half of list_commits.
func TestSearchNames(t *testing.T) {
	d := newFixture(t)
	d.has("git", protocol.Tools, described("list_commits", "Each commit with the commit before."), described("git_commit", "Record it."), described("gitignore", "Hide."))
	d.publish()
	for query, want := range map[string]string{"commit": "git_git_commit", "list commits": "git_list_commits", "git_commit": "git_git_commit", "gitcommit": "git_git_commit"} {
		if got := d.found("", fmt.Sprintf(`{"query":%q}`, query)); len(got) == 0 || got[0] != want {
			t.Errorf("%q: found %v, want %s first", query, got, want)
		}
	}
	for name, want := range map[string]string{"git_commit": "commit", "Git-commit": "commit", "gitignore": "gitignore", "git": "git", "git_": "git_", "": ""} {
		if got := withoutServer(name, "git"); got != want {
			t.Errorf("%q without the server's name: %q, want %q", name, got, want)
		}
	}
}

func TestParticlesFollowTheirVerbs(t *testing.T) {
	for text, want := range map[string]string{
		"look some person up": "look up some person", "look up a person": "look up a person", "take old files out now": "take out old files now",
		"look one two three four up": "look one two three four up", "up": "up", "": "", "walk a dog up": "walk a dog up",
	} {
		var got []string
		for _, w := range withParticles(stemmer{}.split(text)) {
			got = append(got, w.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
