package meta

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func everything(string, func(int) bool) bool { return true }

// plain returns concepts of a single term each.
func plain(terms ...string) (list []concept) {
	for _, term := range terms {
		list = append(list, concept{terms: []synonym{{term, 1}}, weight: 1})
	}
	return list
}

// ids returns the ids of the documents that a search for the terms finds.
func (r *ranking) ids(terms ...string) (list []string) {
	found, _, _ := r.best(context.Background(), plain(terms...), 100, everything)
	for _, h := range found {
		list = append(list, h.id)
	}
	return list
}

// rankingOf returns a ranking of documents with these texts and empty names.
func rankingOf(texts ...string) *ranking {
	r := newRanking()
	for i, text := range texts {
		r.add(fmt.Sprint(i), [fields][]string{fieldText: strings.Fields(text)})
	}
	return r
}

func TestRanking(t *testing.T) {
	for _, c := range []struct {
		what  string
		texts []string
		query string
		want  string
	}{
		{"a rare word counts more", []string{"x common", "x rare", "y common", "z common"}, "common rare", "1 0 2 3"},
		{"a document with all words comes before one with some", []string{"a a a a", "a b", "b b b b"}, "a b", "1 0 2"},
		{"a word in a long text counts less", []string{"a" + strings.Repeat(" q", 99), "a q", "q"}, "a", "1 0"},
		{"a repeated word counts more", []string{"a b c d", "a a c d", "e f g h"}, "a", "1 0"},
		{"documents with equal scores are ordered by id", []string{"a", "a", "b"}, "a", "0 1"},
		{"no document matches", []string{"a"}, "b", ""},
		{"empty query", []string{"a"}, "", ""},
	} {
		if got := strings.Join(rankingOf(c.texts...).ids(strings.Fields(c.query)...), " "); got != c.want {
			t.Errorf("%s: %q in %q: %s, want %s", c.what, c.query, c.texts, got, c.want)
		}
	}
	names := newRanking()
	names.add("text", [fields][]string{fieldName: {"b"}, fieldText: {"a"}})
	names.add("name", [fields][]string{fieldName: {"a"}, fieldText: {"b"}})
	if got := names.ids("a"); !slices.Equal(got, []string{"name", "text"}) {
		t.Errorf("order %v, want the match in the name first", got)
	}
	whole := newRanking()
	whole.add("half", [fields][]string{fieldName: {"a", "b"}, fieldSummary: {"a", "a", "a", "a"}})
	whole.add("whole", [fields][]string{fieldName: {"a"}})
	whole.add("none", [fields][]string{fieldName: {"c"}})
	if got := whole.ids("a"); !slices.Equal(got, []string{"whole", "half"}) {
		t.Errorf("order %v, want the match of the whole name first", got)
	}
}

// A ranking from which documents were dropped finds the same documents in the same order as one that never had them.
// The best n results are the first n of all.
func TestDroppedDocumentsHaveNoEffect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 6)
		churned, clean := newRanking(), newRanking()
		for i := range rapid.IntRange(0, 200).Draw(t, "documents") {
			texts := [fields][]string{fieldName: text.Draw(t, "name"), fieldText: text.Draw(t, "text")}
			number := churned.add(fmt.Sprint(i), texts)
			if rapid.Bool().Draw(t, "drop") {
				churned.drop(number)
			} else {
				clean.add(fmt.Sprint(i), texts)
			}
		}
		query := text.Draw(t, "query")
		want, total, _ := clean.best(context.Background(), plain(query...), 1000, everything)
		got, found, _ := churned.best(context.Background(), plain(query...), 1000, everything)
		if !slices.Equal(got, want) || found != total || total != len(want) {
			t.Fatalf("found %d %v, want %d %v", found, got, total, want)
		}
		n := rapid.IntRange(1, 50).Draw(t, "n")
		few, found, _ := churned.best(context.Background(), plain(query...), n, everything)
		if !slices.Equal(few, want[:min(n, len(want))]) || found != total {
			t.Fatalf("the best %d of %d: %v, want %v", n, found, few, want)
		}
	})
}

// A canceled search ends with an error.
func TestCancelledSearchFails(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := rankingOf("a").best(ctx, plain("a"), 1, everything); err == nil {
		t.Error("a canceled search returned no error")
	}
}

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"requests requested request": "request request request", "the of and": "", "will issues": "will issu", "": "",
		"日本語": "日 本 語", "カタカナ": "カタカナ", "größe résumé": "größe résumé", "pull a request": "pull request", "x": "x",
	} {
		if got := strings.Join(stemmer{}.terms(nil, text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The number of concepts is bounded, even for a query in a script without spaces, whose 4 KiB may contain a thousand
// words.
func TestConceptsAreBounded(t *testing.T) {
	var distinct strings.Builder
	for i := range 500 {
		fmt.Fprintf(&distinct, "word%c%ck ", 'a'+i/26, 'a'+i%26)
	}
	if n := len(newRanking().concepts(distinct.String())); n != maxWords {
		t.Errorf("500 different words yield %d concepts, want %d", n, maxWords)
	}
	for _, query := range []string{strings.Repeat("猫と犬", 400), strings.Repeat("find it ", 500), distinct.String()} {
		if n := len(newRanking().concepts(query)); n > maxWords {
			t.Errorf("%.12q…: %d concepts, want at most %d", query, n, maxWords)
		}
	}
}
