package visible

import "unicode"

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	keycap    = '\u20e3'
)

// hidden holds the characters without an appearance of their own: format characters (Cf), the ignorable characters and the
// variation selectors of the Unicode Character Database, the Tags block, and the line and paragraph separators.
var hidden = []*unicode.RangeTable{unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, tags}

var tags = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe007f, Stride: 1}}}

// joining holds the scripts in which a joiner or non-joiner changes the shape of the letters beside it (UAX #31,
// section 2.3).
var joining = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// Hidden reports whether r is a control character or has no appearance of its own. Newline and tab count as control
// characters.
func Hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.IsControl(r) || unicode.In(r, hidden...)
}

// stays reports whether a hidden character is kept: a newline, a tab, or a character that the text around it needs.
// before is the character in front of it, or 0 if that was escaped or does not exist; after is the next one, or 0.
func stays(r, before, after rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r == joiner && emoji(after):
		return emoji(before) || unicode.Is(unicode.Variation_Selector, before)
	case r == joiner || r == nonJoiner:
		return unicode.In(before, joining...) && unicode.In(after, joining...) && !Hidden(before) && !Hidden(after)
	case unicode.Is(unicode.Variation_Selector, r):
		return before >= 0x2000 && !Hidden(before) && !unicode.Is(unicode.Co, before) || after == keycap && before < 0x7f || before == '©' || before == '®'
	}
	return false
}

// emoji reports whether r may be part of an emoji that joiners hold together.
func emoji(r rune) bool { return r >= 0x2000 && unicode.IsSymbol(r) && !Hidden(r) }
