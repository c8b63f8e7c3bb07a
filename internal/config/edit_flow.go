package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// flow is a list or mapping in brackets, with offsets into the text.
type flow struct {
	open, close int // offsets of the brackets
	items       []flowItem
}

// flowItem is an element of a list or mapping.
type flowItem struct {
	start, end int    // end is just past the last character, without the comma
	key        string // "" in a list
	value      int    // start of the value; end if there is none
	comma      int    // offset of the comma after it; -1 if there is none
}

// scanFlow finds the items of the list or mapping that opens at offset open. The text must be valid YAML; scanFlow
// only finds positions. It returns ErrByHand for syntax that it does not support.
func scanFlow(s string, open int) (flow, error) {
	f := flow{open: open}
	closer := byte('}')
	if s[open] == '[' {
		closer = ']'
	}
	for i := skipBlank(s, open+1); ; i = skipBlank(s, i) {
		if i >= len(s) {
			return f, ErrByHand
		}
		if s[i] == closer {
			f.close = i
			return f, nil
		}
		item := flowItem{start: i, comma: -1}
		end, err := scanValue(s, i)
		if err != nil {
			return f, err
		}
		item.value, item.end = i, end
		if i = skipBlank(s, end); i < len(s) && s[i] == ':' {
			item.key = plainKeyText(s[item.start:end])
			item.end = i + 1
			if i = skipBlank(s, i+1); i < len(s) && s[i] != ',' && s[i] != closer {
				if item.end, err = scanValue(s, i); err != nil {
					return f, err
				}
				item.value = i
			} else {
				item.value = item.end
			}
			i = skipBlank(s, item.end)
		}
		if i < len(s) && s[i] == ',' {
			item.comma = i
			i++
		} else if i < len(s) && s[i] != closer {
			return f, ErrByHand
		}
		f.items = append(f.items, item)
	}
}

// skipBlank returns the offset of the next character that is not part of white space or a comment.
func skipBlank(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n\r", s[i-1]) >= 0):
			if i = lineEnd(s, i); i < len(s) {
				i++
			}
		default:
			return i
		}
	}
	return i
}

// lineEnd returns the offset of the line feed that ends the line at i, or len(s).
func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

// scanValue returns the offset just past the value or key at i.
func scanValue(s string, i int) (int, error) {
	switch s[i] {
	case '{', '[':
		f, err := scanFlow(s, i)
		return f.close + 1, err
	case '"':
		for j := i + 1; j < len(s); j++ {
			if s[j] == '\\' {
				j++
			} else if s[j] == '"' {
				return j + 1, nil
			}
		}
		return i, ErrByHand
	case '\'':
		for j := i + 1; j < len(s); j++ {
			if s[j] == '\'' && strings.HasPrefix(s[j+1:], "'") {
				j++
			} else if s[j] == '\'' {
				return j + 1, nil
			}
		}
		return i, ErrByHand
	case '&', '*', '!', '?':
		if s[i] != '?' || strings.HasPrefix(s[i:], "? ") {
			return i, ErrByHand
		}
	}
	end := i
	for j := i; j < len(s); j++ {
		c := s[j]
		if strings.IndexByte(",[]{}", c) >= 0 ||
			c == ':' && (j+1 == len(s) || strings.IndexByte(" \t\n\r,[]{}", s[j+1]) >= 0) ||
			c == '#' && strings.IndexByte(" \t\n\r", s[j-1]) >= 0 {
			break
		}
		if strings.IndexByte(" \t\n\r", c) < 0 {
			end = j + 1
		}
	}
	if end == i {
		return i, ErrByHand
	}
	return end, nil
}

// plainKeyText returns a key without its quotes.
func plainKeyText(raw string) string {
	if raw == "" || raw[0] != '"' && raw[0] != '\'' {
		return raw
	}
	file, err := parseYAML([]byte(raw))
	if err != nil || len(file.Docs) == 0 {
		return raw
	}
	if s, ok := file.Docs[0].Body.(*ast.StringNode); ok {
		return s.Value
	}
	return raw
}
