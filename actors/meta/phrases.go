package meta

// maxPhrase is the number of words in the longest recognized phrase, not counting articles.
const maxPhrase = 5

// articles may stand between the words of a phrase.
var articles = wordSet("a an the my your our his her its their this that these those some")

// joined replaces two adjacent words with their compound if the table of synonyms contains it: "web page" becomes webpage.
func (s stemmer) joined(all []word) (list []word) {
	for i := 0; i < len(all); i++ {
		if i+1 < len(all) && !all[i].stop {
			text := all[i].text + all[i+1].text
			if term := s.stem(text); len(thesaurus()[term]) > 0 {
				list = append(list, word{text, term, false})
				i++
				continue
			}
		}
		list = append(list, all[i])
	}
	return list
}

// particles may be separated from their verb by other words, as in "look a person up".
var particles = wordSet("up down out off away back")

// maxGap is the maximum number of words between a verb and its particle.
const maxGap = 3

// withParticles moves each particle directly after its verb if the table contains the two as a phrase.
func withParticles(all []word) []word {
	for i := range all {
		if !particles[all[i].text] {
			continue
		}
		for verb := i - 2; verb >= max(0, i-1-maxGap); verb-- {
			if len(thesaurus()[all[verb].term+" "+all[i].term]) > 0 {
				particle := all[i]
				copy(all[verb+2:i+1], all[verb+1:i])
				all[verb+1] = particle
				break
			}
		}
	}
	return all
}

// phraseAt returns the longest phrase of the table at the start of the words, and the number of words it covers, or 0
// if there is none.
func phraseAt(all []word) (length int, phrase string) {
	text := all[0].term
	for i, n := 1, 1; i < len(all) && n < maxPhrase; i++ {
		if articles[all[i].text] {
			continue
		}
		n++
		text += " " + all[i].term
		if len(thesaurus()[text]) > 0 {
			length, phrase = i+1, text
		}
	}
	return length, phrase
}

// ofPhrase returns the concepts of a phrase's words, except stop words. The synonyms of the phrase apply to each concept.
func ofPhrase(all []word, phrase string) (list []concept) {
	for _, w := range all {
		if !w.stop {
			c := concept{weight: phraseWeight}
			c.add(w.term, 1)
			list = append(list, c)
		}
	}
	switch len(list) {
	case 0:
		list = []concept{{weight: 1}}
	case 1: // the other words are particles
		list[0].weight = 1
		list[0].terms[0].weight = particleWeight
	}
	for i := range list {
		list[i].phrase = true
		list[i].addSynonyms(phrase, 1)
	}
	return list
}
