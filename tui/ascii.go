package tui

import "github.com/gdamore/tcell/v2"

// asciiGlyphs holds the replacement of each of the console's own glyphs on terminals that cannot draw them, or that draw them
// two columns wide.
var asciiGlyphs = map[rune]string{
	'▲': "!", '✗': "x", '◐': "~", '◑': "?", '●': "*", '○': "o", '–': "-", // severities; – also stands for no value
	'▁': "_", '▂': ".", '▃': ".", '▄': "-", '▅': "=", '▆': "=", '▇': "^", // sparklines
	'█': "#", '▉': "#", '▊': "#", '▋': "#", '▌': "|", '▍': "|", '▎': "|", '▏': "|", '▐': "|", '▕': "|", // bars, and the bar of the selection
	'─': "-", '│': "|", '├': "|", '└': "`", '┌': "+", '┐': "+", '┘': "+", '┤': "|", '┬': "+", '┴': "+", '┼': "+", // lines and trees
	'▸': "+", '▾': "-", '▶': ">", // folded and unfolded groups
	'…': "~", '⋮': ":", '‖': "=", '×': "x", 'µ': "u", '·': ".", '±': "~", 'Σ': "S",
	'≥': ">", '≤': "<", '›': ">", '‹': "<", '→': ">", '←': "<", '↑': "^", '↓': "v", '⇢': ">",
	'—': "-", '“': `"`, '”': `"`, '„': `"`, '’': "'", '‘': "'",
}

// asciiScreen is a screen on which the console's own glyphs are drawn in ASCII, even if they are part of a server's names or texts.
// Other text that is not ASCII stays: a terminal without UTF-8 shows a question mark for each of its characters.
type asciiScreen struct {
	tcell.Screen
	x, y int // the cell after a "≥" or "≤", which becomes the second half of ">=" or "<=" if it is a space
}

// Put implements tcell.Screen.
func (s *asciiScreen) Put(x, y int, text string, style tcell.Style) (string, int) {
	if len(text) == 1 && text[0] < 0x80 {
		if text == " " && x > 0 && x == s.x && y == s.y {
			text = "="
		}
		s.x = 0
		return s.Screen.Put(x, y, text, style)
	}
	glyph, size := firstRune(text)
	ascii, ours := asciiGlyphs[glyph]
	if s.x = 0; !ours {
		return s.Screen.Put(x, y, text, style)
	}
	if glyph == '≥' || glyph == '≤' {
		s.x, s.y = x+1, y
	}
	s.Screen.Put(x, y, ascii, style)
	return text[size:], 1
}

// PutStrStyled implements tcell.Screen.
func (s *asciiScreen) PutStrStyled(x, y int, text string, style tcell.Style) {
	for w, _ := s.Size(); text != "" && x < w; {
		var n int
		text, n = s.Put(x, y, text, style)
		x += n
	}
}

// PutStr implements tcell.Screen.
func (s *asciiScreen) PutStr(x, y int, text string) { s.PutStrStyled(x, y, text, tcell.StyleDefault) }

// SetContent implements tcell.Screen.
func (s *asciiScreen) SetContent(x, y int, primary rune, combining []rune, style tcell.Style) {
	if ascii, ours := asciiGlyphs[primary]; ours {
		primary = rune(ascii[0])
	}
	s.Screen.SetContent(x, y, primary, combining, style)
}

// SetCell implements tcell.Screen.
func (s *asciiScreen) SetCell(x, y int, style tcell.Style, runes ...rune) {
	s.Put(x, y, string(runes), style)
}

func firstRune(text string) (glyph rune, size int) {
	for _, glyph = range text {
		return glyph, len(string(glyph))
	}
	return 0, 0
}

// asciiKeys maps the names of keys that contain glyphs to names in ASCII.
var asciiKeys = map[string]string{"↑ ↓ j k": "up down j k", "← →": "left right"}

// keyName returns the name of a key as it is shown.
func (a *App) keyName(key string) string {
	if name, ok := asciiKeys[key]; ok && a.ascii {
		return name
	}
	return key
}
