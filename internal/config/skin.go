package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Skin maps parts of the console to styles. Parts without a style keep the default.
type Skin map[string]Paint

// Paint is the style of one part. It replaces the default style entirely.
type Paint struct {
	Foreground string // name of a color, "default" or "#rrggbb"; "" for the terminal's default
	Background string // like Foreground; "" for the background of part "plain"
	Bold       bool
	Dim        bool
	Italic     bool
	Underline  bool
	Reverse    bool
}

const (
	colorWanted = "a color"
	colorHint   = `a name like green or default, or "#rrggbb" in quotes, because # starts a comment`
)

// SkinPath returns the file of skin name. A name with a path separator or a YAML extension is a path. Any other name
// stands for the file NAME.yaml in $XDG_CONFIG_HOME/goblin-actor/skins (by default in ~/.config). It returns "" if that
// directory is unknown.
func SkinPath(name string, getenv func(string) string) string {
	if strings.ContainsAny(name, `/\`) || filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".yml" {
		return name
	}
	if base := configHome(getenv); base != "" {
		return filepath.Join(base, "goblin-actor", "skins", name+".yaml")
	}
	return ""
}

// LoadSkin reads and parses the skin file at path. The Report holds the errors of ParseSkin, or why the file cannot be read.
func LoadSkin(path string, parts, colors []string) (Skin, Report) {
	data, err := readFile(path)
	if err != nil {
		f := &Finding{File: path, Message: "cannot be read: " + reason(err), cause: err}
		if errors.Is(err, fs.ErrNotExist) {
			f.Message, f.Hint = "no such file", "name a file, a built-in skin, or a file in skins/ in the user's configuration directory"
		}
		return nil, Report{Faults: []*Finding{f}}
	}
	return ParseSkin(path, data, parts, colors)
}

// ParseSkin parses data. name is the name of the file for the Report, parts are the parts of the console, and colors the
// known color names. The Skin is nil if the Report has errors. ParseSkin never panics, and returns within seconds on any
// input.
func ParseSkin(name string, data []byte, parts, colors []string) (Skin, Report) {
	d := newDecoder(name, func(string) (string, bool) { return "", false })
	skin := Skin{}
	if root := d.root(data); root != nil && d.wantMapping(root, place{}) {
		for _, m := range root.members {
			if !slices.Contains(parts, m.key) {
				d.fault(m.line, m.column, m.key, "unknown part of the screen", unknownKeyHint(m.key, parts))
				continue
			}
			skin[m.key] = d.paint(m.value, colors, place{m.key, m.key})
		}
	}
	report := d.finish()
	if len(report.Faults) > 0 {
		return nil, report
	}
	return skin, report
}

// paint reads a color, or a mapping of colors and attributes.
func (d *decoder) paint(n *node, colors []string, at place) Paint {
	var p Paint
	if n.kind != mapping {
		d.paintColor(&p.Foreground, n, colors, at)
		return p
	}
	words := map[string]*string{"fgColor": &p.Foreground, "bgColor": &p.Background}
	switches := map[string]*bool{"bold": &p.Bold, "dim": &p.Dim, "italic": &p.Italic, "underline": &p.Underline, "reverse": &p.Reverse}
	for _, m := range n.members {
		here := at.key(m.key)
		switch {
		case words[m.key] != nil:
			d.paintColor(words[m.key], m.value, colors, here)
		case switches[m.key] != nil:
			d.boolean(switches[m.key], m.value, here)
		default:
			d.fault(m.line, m.column, here.path, "unknown key", unknownKeyHint(m.key, append(sortedKeys(words), sortedKeys(switches)...)))
		}
	}
	if reflect.ValueOf(p).IsZero() && n.members == nil {
		d.fault(n.line, n.column, at.path, "no color or attribute given", "remove it, or name a color")
	}
	return p
}

func (d *decoder) paintColor(to *string, n *node, colors []string, at place) {
	if n.empty() {
		d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want %s", n.kind, colorWanted), colorHint)
		return
	}
	s, ok := d.scalar(n, colorWanted, at)
	if !ok {
		return
	}
	*to = strings.ToLower(s)
	if slices.Contains(colors, *to) || isHexColor(*to) {
		return
	}
	hint := colorHint
	if near := Nearest(*to, colors); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	d.invalid(n, colorWanted, hint, at)
}

// isHexColor reports whether s is #rrggbb in lower case.
func isHexColor(s string) bool {
	return len(s) == 7 && s[0] == '#' && strings.Trim(s[1:], "0123456789abcdef") == ""
}
