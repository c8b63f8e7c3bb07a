package meta

import "unicode/utf8"

const (
	shortestCorrected = 4  // letters; a shorter word resembles too many others
	shortestStem      = 5  // letters of a term that may be the stem of a misspelled word
	maxEnding         = 3  // letters of the misspelled word beyond the stem: navgate resembles navig
	maxCorrections    = 8  // corrections that one look-up returns
	maxTerm           = 32 // bytes; longer terms are not compared
)

// maxGroup limits the terms per first letter and length, which bounds the cost of correcting a word.
const maxGroup = 1 << 12

// spelling finds terms with similar spelling. Terms are grouped by first letter and length, so that a word is
// compared with few of them.
type spelling map[spellingKey][]string

type spellingKey struct {
	first  byte
	length uint8
}

func (s spelling) add(term string) {
	if len(term) < shortestCorrected-1 || len(term) > maxTerm || term[0] >= utf8.RuneSelf {
		return
	}
	key := spellingKey{term[0], uint8(len(term))}
	if len(s[key]) < maxGroup {
		s[key] = append(s[key], term)
	}
}

// near returns the terms that the word may be a misspelling of.
func (s spelling) near(word string) (list []string) {
	if len(word) < shortestCorrected || len(word) > maxTerm {
		return nil
	}
	limit := 1
	if len(word) >= 8 {
		limit = 2
	}
	for length := max(shortestCorrected-1, len(word)-limit-maxEnding); length <= len(word)+limit; length++ {
		ending := 0
		if length >= shortestStem {
			ending = maxEnding
		}
		for _, term := range s[spellingKey{word[0], uint8(length)}] {
			if closeTo(term, word, limit, ending) {
				if list = append(list, term); len(list) == maxCorrections {
					return list
				}
			}
		}
	}
	return list
}

// closeTo reports whether few edits, at most the given limit, turn the word into the term. Letters at the end of the word
// may be ignored, at most as many as the parameter ending says. An edit is an extra, missing, wrong or transposed letter.
func closeTo(term, word string, limit, ending int) bool {
	if len(term) > maxTerm || len(word) > maxTerm {
		return false
	}
	var rows [3][maxTerm + 1]uint8
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(word) + 1 {
		last[j] = uint8(j)
	}
	for i := range len(term) {
		row[0] = uint8(i + 1)
		least := row[0]
		for j := range len(word) {
			cost := uint8(1)
			if term[i] == word[j] {
				cost = 0
			}
			n := min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && term[i] == word[j-1] && term[i-1] == word[j] {
				n = min(n, before[j-1]+1)
			}
			row[j+1] = n
			least = min(least, n)
		}
		if int(least) > limit {
			return false
		}
		before, last, row = last, row, before
	}
	for j := max(0, len(word)-ending); j <= len(word); j++ {
		if int(last[j]) <= limit {
			return true
		}
	}
	return false
}
