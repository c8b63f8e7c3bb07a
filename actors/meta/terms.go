package meta

import (
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/go-porterstemmer"
	"github.com/rivo/uniseg"
)

// stopWords say nothing about what a text is about: the English list of the Snowball project, as far as words has not cut it.
var stopWords = func() map[string]bool {
	list := map[string]bool{}
	for word := range strings.FieldsSeq(`a about above after again against all am an and any are as at be because been before being below between both but by
		cannot could did do does doing down during each few for from further had has have having he her here hers herself him himself his how
		i if in into is it its itself me more most my myself no nor not of off on once only or other ought our ours ourselves out over own
		same she should so some such than that the their theirs them themselves then there these they this those through to too
		under until up very was we were what when where which while who whom why with would you your yours yourself yourselves`) {
		list[word] = true
	}
	return list
}()

// stemmer makes terms of words, what the index knows them by: requests and requested are request. It remembers the words it has seen.
type stemmer map[string]string

// terms appends the terms of a text that words has made: without stop words, and of scripts that write no spaces cut as Unicode says.
func (s stemmer) terms(dst []string, text string) []string {
	for word := range strings.FieldsSeq(text) {
		for state := -1; word != ""; {
			part := word
			if ascii(word) {
				word = ""
			} else {
				part, word, state = uniseg.FirstWordInString(word, state)
			}
			if !stopWords[part] {
				dst = append(dst, s.stem(part))
			}
		}
	}
	return dst
}

func (s stemmer) stem(word string) string {
	stem, ok := s[word]
	if !ok {
		stem = string(porterstemmer.StemWithoutLowerCasing([]rune(word)))
		s[strings.Clone(word)] = stem
	}
	return stem
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
