package meta

import "strings"

// The weights of a concept's terms, relative to the word itself.
const (
	correctedWeight = 0.45 // a correction of an unknown word
	particleWeight  = 0.5  // the word has another meaning in its phrase, as log in "log in"
)

// The weights of a query's concepts, relative to a word that names the topic.
const (
	askWeight    = 0.25 // stop words with synonyms, such as question words
	fillerWeight = 0.25 // filler words, and values for arguments of the later call
	lightWeight  = 0.5  // generic verbs
	phraseWeight = 0.7  // words of a phrase of several words
	mergedWeight = 0.25 // added for each further word of the same meaning
)

var (
	// fillers say little about the topic. Unlike stop words they are searched for.
	fillers = wordSet(`want need please let can may like help would tell us something anything everything someone somebody anyone thing
		things way use using try know just really now there here one some any much many possible able make sure`)
	// lightVerbs are generic verbs, as terms.
	lightVerbs = wordSet(`show see view look get give make put take list print displai bring do check find us read open write go creat add
		new set start run chang have`)
)

// contractions expands contracted forms and strips the possessive ending.
var contractions = strings.NewReplacer("’", "'", "at's ", "at is ", "ere's ", "ere is ", "ho's ", "ho is ", "ow's ", "ow is ", "en's ", "en is ",
	"it's ", "it is ", "It's ", "it is ", "'s ", " ", "'ve ", " have ", "'re ", " are ", "'ll ", " will ", "'m ", " am ", "n't ", " not ")

// concept is the meaning of one word of a query. A document matches the concept if it has any of the terms.
type concept struct {
	terms  []synonym // the first is the word itself, unless it is a stop word
	weight float64
	phrase bool // the synonyms are those of the phrase that contains the word
}

func (c *concept) add(term string, weight float64) {
	for i, t := range c.terms {
		if t.term == term {
			c.terms[i].weight = max(t.weight, weight)
			return
		}
	}
	c.terms = append(c.terms, synonym{term, weight})
}

// addSynonyms adds the synonyms of a word or phrase.
func (c *concept) addSynonyms(text string, weight float64) {
	for _, s := range thesaurus()[text] {
		c.add(s.term, s.weight*weight)
	}
}

// concepts returns the concepts of a query, at most maxWords. In a script without spaces, one word yields several.
func (r *ranking) concepts(query string) (list []concept) {
	stems := stemmer{}
	rest, literals := cutLiterals(contractions.Replace(query + " "))
	all := stems.joined(stems.split(words(rest)))
	all = withParticles(all[:firstWords(all, maxWords)])
	for i := 0; i < len(all); {
		if n, phrase := phraseAt(all[i:]); n > 0 {
			list = append(list, ofPhrase(all[i:i+n], phrase)...)
			i += n
			continue
		}
		if c := r.ofWord(all, i); len(c.terms) > 0 {
			list = merge(list, c)
		}
		i++
	}
	for _, w := range stems.split(words(literals)) {
		if !w.stop {
			list = append(list, concept{terms: []synonym{{w.term, 1}}, weight: fillerWeight})
		}
	}
	return list[:min(len(list), maxWords)]
}

// firstWords returns the length of the prefix of all that has n words, not counting stop words.
func firstWords(all []word, n int) int {
	for i, w := range all {
		if w.stop {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return len(all)
}

// ofWord returns the concept of the word at i. A stop word contributes only its synonyms.
func (r *ranking) ofWord(all []word, i int) concept {
	w := all[i]
	c := concept{weight: weightOf(w)}
	if !w.stop {
		c.add(w.term, 1)
	}
	c.addSynonyms(w.term, 1)
	if r.terms[w.term] == nil && len(c.terms) == 1 {
		for _, term := range r.near(w) {
			c.add(term, correctedWeight)
			c.addSynonyms(term, correctedWeight)
		}
	}
	for at := max(i-1, 0); at <= i && at+1 < len(all); at++ { // "time zone" also matches timezone
		if joined := all[at].term + all[at+1].term; r.terms[joined] != nil {
			c.add(joined, 1)
		}
	}
	return c
}

func weightOf(w word) float64 {
	switch {
	case w.stop:
		return askWeight
	case fillers[w.text] || strings.Trim(w.text, "0123456789") == "":
		return fillerWeight
	case lightVerbs[w.term]:
		return lightWeight
	}
	return 1
}

// merge appends a concept, or adds it to one with the same meaning, so that a document with both words does not count
// twice.
func merge(list []concept, c concept) []concept {
	for i := range list {
		same := &list[i]
		for _, t := range same.terms {
			if t.term == c.terms[0].term && t.weight >= synonymWeight {
				for _, s := range c.terms {
					same.add(s.term, s.weight)
				}
				same.weight = max(same.weight, c.weight) + mergedWeight
				return list
			}
		}
	}
	return append(list, c)
}

// near returns terms of documents and of the table that a word may be a misspelling of.
func (r *ranking) near(w word) (list []string) {
	for _, known := range []spelling{r.spelling, knownSpelling()} {
		list = append(append(list, known.near(w.term)...), known.near(w.text)...)
	}
	return list
}
