package tui

import "github.com/gdamore/tcell/v2"

// Health is how something is; it chooses the colour.
type Health uint8

const (
	Plain Health = iota // nothing to be said
	Good
	Warn  // it copes
	Bad   // a person should look
	Quiet // not in use
	healths
)

// Palette is all the colours there are, by what they say.
type Palette struct {
	Health   [healths]tcell.Style
	Head     tcell.Style // names of columns, labels
	Title    tcell.Style
	Frame    tcell.Style // rules
	Selected tcell.Style // laid over a row: its background
	Match    tcell.Style // what the filter found
	Key      tcell.Style // a key in the hint bar
	Hint     tcell.Style // what it does
}

// Palettes by name. The colours are the terminal's own sixteen, so that they fit its background; with NO_COLOR
// (https://no-color.org) "mono" is used: bold, dim, underlined and reversed only.
var palettes = map[string]Palette{
	"colour": {
		Health: [healths]tcell.Style{
			Plain: style(tcell.ColorDefault), Good: style(tcell.ColorGreen), Warn: style(tcell.ColorYellow),
			Bad: style(tcell.ColorRed).Bold(true), Quiet: style(tcell.ColorGray),
		},
		Head: style(tcell.ColorDefault).Bold(true), Title: style(tcell.ColorAqua).Bold(true), Frame: style(tcell.ColorGray),
		Selected: style(tcell.ColorBlack).Background(tcell.ColorSilver), Match: style(tcell.ColorBlack).Background(tcell.ColorYellow),
		Key: style(tcell.ColorAqua).Bold(true), Hint: style(tcell.ColorGray),
	},
	"mono": {
		Health: [healths]tcell.Style{Bad: tcell.StyleDefault.Bold(true), Quiet: tcell.StyleDefault.Dim(true)},
		Head:   tcell.StyleDefault.Bold(true), Title: tcell.StyleDefault.Bold(true),
		Selected: tcell.StyleDefault.Reverse(true), Match: tcell.StyleDefault.Underline(true).Bold(true),
		Key: tcell.StyleDefault.Bold(true),
	},
}

func style(c tcell.Color) tcell.Style { return tcell.StyleDefault.Foreground(c) }
