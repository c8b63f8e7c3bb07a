package config

import (
	"errors"
	"strings"
)

var errQuote = errors.New("unterminated quote")

// Words splits a command line like splitWords. A line with an unterminated quote is a single word.
func Words(s string) []string {
	words, err := splitWords(s)
	if err != nil {
		return []string{s}
	}
	return words
}

// splitWords splits a command line at white space, like a shell without expansion. Quotes group words. Inside double quotes, \" and \\
// are a quote and a backslash.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '"' && c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			word.WriteByte(s[i])
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errQuote
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
