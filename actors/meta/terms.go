package meta

import (
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/go-porterstemmer"
	"github.com/rivo/uniseg"
)

func wordSet(text string) map[string]bool {
	list := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		list[word] = true
	}
	return list
}

// stopWords say nothing about the topic. This is the English list of the Snowball project, split by the function words.
var stopWords = wordSet(`a about above after against again all am an and any are as at be because been before being below between both but by
	cannot could did do does doing down during each few for from further had has have having he her here hers herself him himself his how
	i if in into is it its itself me more most my myself no nor not of off on once only or other ought our ours ourselves out over own
	same she should so some such than that the their theirs them themselves then there these they this those through to too
	under until up very was we were what when where which while who whom why with would you your yours yourself yourselves`)

// irregular maps irregular forms, which the stemmer does not know, to their base form.
var irregular = func() map[string]string {
	list := map[string]string{}
	for line := range strings.SplitSeq(`write wrote written;send sent;take took taken;make made;find found;say said;run ran;see saw seen;go went gone;
		keep kept;forget forgot forgotten;build built;buy bought;child children;person people persons;tell told;give gave given;speak spoke spoken;
		begin began begun;choose chose chosen;break broke broken;draw drew drawn;hide hid hidden;hold held;know knew known;leave left;lose lost;
		meet met;pay paid;show shown showed;steal stole;think thought;throw threw thrown;understand understood;get got gotten;bring brought;
		catch caught;drive drove driven;fall fell fallen;feel felt;grow grew grown;sell sold;spend spent;stick stuck;teach taught;wake woke;
		undo undid undone;reset resetting;man men;woman women;mouse mice;index indices indexes;matrix matrices;vertex vertices`, ";") {
		forms := strings.Fields(line)
		for _, form := range forms[1:] {
			list[form] = forms[0]
		}
	}
	return list
}()

// stemmer maps words to index terms: requests and requested become request. It caches the words it has seen.
type stemmer map[string]string

// word is a word of a query.
type word struct {
	text, term string
	stop       bool
}

// terms appends the terms of a text, without stop words. The text must be a result of the function words.
func (s stemmer) terms(dst []string, text string) []string {
	for part := range parts(text) {
		if !stopWords[part] {
			dst = append(dst, s.stem(part))
		}
	}
	return dst
}

// split returns all words of a text. The text must be a result of the function words.
func (s stemmer) split(text string) (list []word) {
	for part := range parts(text) {
		list = append(list, word{part, s.stem(part), stopWords[part]})
	}
	return list
}

// parts yields the words of a text. In scripts without spaces it splits at Unicode word boundaries.
func parts(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsSeq(text) {
			for state := -1; word != ""; {
				part := word
				if ascii(word) {
					word = ""
				} else {
					part, word, state = uniseg.FirstWordInString(word, state)
				}
				if !yield(part) {
					return
				}
			}
		}
	}
}

func (s stemmer) stem(word string) string {
	stem, ok := s[word]
	if !ok {
		base := word
		if regular, ok := irregular[word]; ok {
			base = regular
		}
		stem = string(porterstemmer.StemWithoutLowerCasing([]rune(base)))
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
