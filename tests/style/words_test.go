package style

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	sample = flag.Bool("sample", false, "print 60 comments, 60 strings and 30 paragraphs")
	seed   = flag.Uint64("seed", 1, "seed that selects the sample")
	all    = flag.Bool("all", false, "also check the pending directories")
)

const root = "../.."

// plain lists words that do not belong in this project's prose, and what to write instead.
var plain = []struct {
	words   *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bmend(s|ed|ing)?\b`), "fix"},
	{regexp.MustCompile(`(?i)\bin vain\b`), "without success"},
	{regexp.MustCompile(`(?i)\b(whoever|whosoever|whomever)\b`), "the client, the caller, the principal"},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|anybody)\b`), "no client, a client, the operator"},
	{regexp.MustCompile(`(?i)\bcarr(y|ies|ied|ying) (it |them )?out\b`), "execute, run"},
	{regexp.MustCompile(`(?i)\b(not|to|can|cannot|could|may|must) be had\b`), "available"},
	{regexp.MustCompile(`(?i)\bmisfortunes?\b`), "failure"},
	{regexp.MustCompile(`(?i)\bdesks?\b`), "stateless session"},
	{regexp.MustCompile(`(?i)\banew\b`), "again, new"},
	{regexp.MustCompile(`(?i)\bof ours\b`), "of the gateway"},
	{regexp.MustCompile(`(?i)\b(there )?(is|are|was|were|be) no more\b`), "no longer exists"},
	{regexp.MustCompile(`(?i)\bblanks?\b( lines?| identifier| import)?`), "space"},
	{regexp.MustCompile(`(?i)\b(unasked|unbidden)\b`), "unsolicited"},
	{regexp.MustCompile(`(?i)\b(thereof|therein|wherein|whereto|hitherto|lest|betimes|thereby)\b`), "a sentence with subject and verb"},
	{regexp.MustCompile(`(?i)\bwhat (has )?becomes? of\b`), "the result, the outcome"},
	{regexp.MustCompile(`(?i)\b(there )?(is|are|was) no (JSON|YAML|URL|URI|object|string|number|file|directory|gateway|server|tool|process|secret|key|list|name|address|port|event stream|HTTP|MCP)\b`), "is not a …"},
}

// allowed maps the path of a file to a word that is acceptable in it, because the word is quoted or has another meaning.
var allowed = map[string]string{
	"actors/meta/query.go": "somebody",                                                                                  // a word that users write in queries
	"actors/doc.go":        "desk",                                                                                      // the name of the actors
	"docs/actors.md":       "desk", "docs/architecture.md": "desk", "docs/audit.md": "desk", "docs/commands.md": "desk", // the name that status and logs show
}

// TestPlainWords fails on words that have a plainer replacement.
func TestPlainWords(t *testing.T) {
	texts, err := Extract(root)
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	for _, text := range texts {
		if text.Path == "tests/style/words_test.go" || isPending(text.Path) {
			continue
		}
		for _, p := range plain {
			for _, at := range p.words.FindAllStringIndex(text.Text, -1) {
				found := text.Text[at[0]:at[1]]
				if acceptable(found) || allowed[text.Path] == strings.ToLower(found) {
					continue
				}
				line := text.Line + strings.Count(text.Text[:at[0]], "\n")
				t.Errorf("%s:%d: %s: %q; write %s", text.Path, line, text.Kind, found, p.instead)
			}
		}
	}
}

// acceptable reports whether the words are plain although a pattern matches them.
func acceptable(words string) bool {
	words = strings.ToLower(words)
	return strings.HasPrefix(words, "there ") || strings.HasPrefix(words, "blank ")
}

// TestSample prints a sample of the prose, for a reader to judge each piece: would I rewrite it?
func TestSample(t *testing.T) {
	if !*sample {
		t.Skip("runs only with -sample; see make prose-sample")
	}
	texts, err := Extract(root)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(*seed, *seed))
	for _, draw := range []struct {
		kind Kind
		n    int
	}{{Comment, 60}, {String, 60}, {Paragraph, 30}} {
		of := slices.DeleteFunc(slices.Clone(texts), func(text Text) bool {
			return text.Kind != draw.kind || len(strings.Fields(text.Text)) < 4 || draw.kind == String && strings.HasSuffix(text.Path, "_test.go")
		})
		r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		for i, text := range of[:min(draw.n, len(of))] {
			fmt.Fprintf(os.Stdout, "%s %d  %s:%d\n\t%s\n\n", draw.kind, i+1, text.Path, text.Line, strings.ReplaceAll(text.Text, "\n", "\n\t"))
		}
	}
}
