package meta

import (
	_ "embed"
	"strings"
	"sync"
)

// The weight of a synonym relative to the word itself.
const (
	synonymWeight = 0.85 // words of one group
	relatedWeight = 0.7  // words after an arrow
)

//go:embed synonyms.txt
var synonymText string

// synonym is a term that descriptions may use instead of a word.
type synonym struct {
	term   string
	weight float64
}

// synonyms maps terms, and phrases of terms separated by spaces, to their synonyms.
type synonyms map[string][]synonym

// thesaurus returns the table in synonyms.txt, parsed at the first search.
var thesaurus = sync.OnceValue(func() synonyms { return parseSynonyms(synonymText) })

// parseSynonyms parses a table in the format that synonyms.txt describes.
func parseSynonyms(text string) synonyms {
	table, stems := synonyms{}, stemmer{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		left, right, directed := strings.Cut(line, ">")
		words, others, weight := stems.phrases(left), stems.phrases(right), relatedWeight
		if !directed {
			others, weight = words, synonymWeight
		}
		for _, word := range words {
			for _, other := range others {
				table.add(word, other, weight)
			}
		}
	}
	return table
}

func (t synonyms) add(word, other string, weight float64) {
	if other == word || strings.Contains(other, " ") { // the index has terms but no phrases
		return
	}
	for i, s := range t[word] {
		if s.term == other {
			t[word][i].weight = max(s.weight, weight)
			return
		}
	}
	t[word] = append(t[word], synonym{other, weight})
}

// phrases returns the words and phrases of a line as terms.
func (s stemmer) phrases(line string) (list []string) {
	for word := range strings.FieldsSeq(line) {
		parts := strings.Split(word, "_")
		for i := range parts {
			parts[i] = s.stem(parts[i])
		}
		list = append(list, strings.Join(parts, " "))
	}
	return list
}

// knownSpelling contains the single-word terms that have synonyms, as candidates for correcting misspelled words.
var knownSpelling = sync.OnceValue(func() spelling {
	s := spelling{}
	for term := range thesaurus() {
		if !strings.Contains(term, " ") {
			s.add(term)
		}
	}
	return s
})
