package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// writeYAML prints JSON as YAML 1.2: members in their order, numbers with the digits they have (a YAML library
// would round them), long texts as blocks.
func writeYAML(w io.Writer, value []byte) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var y yamlWriter
	if err := y.value(d, 0, false); err != nil {
		return fmt.Errorf("print as YAML: %w", err)
	}
	_, err := w.Write(y.out.Bytes())
	return err
}

type yamlWriter struct{ out bytes.Buffer }

// value writes the next value. after: it follows "key:", so that a collection starts on the next line; otherwise the
// cursor stands where its first member goes.
func (y *yamlWriter) value(d *json.Decoder, indent int, after bool) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return y.collection(d, token, indent, after)
	case string:
		y.scalar(yamlText(token, indent), after)
	case nil:
		y.scalar("null", after)
	default:
		y.scalar(fmt.Sprint(token), after)
	}
	return nil
}

func (y *yamlWriter) scalar(text string, after bool) {
	if after {
		y.out.WriteByte(' ')
	}
	y.out.WriteString(text)
	y.out.WriteByte('\n')
}

// collection writes an object or array whose opening bracket was read.
func (y *yamlWriter) collection(d *json.Decoder, open json.Delim, indent int, after bool) error {
	if !d.More() {
		y.scalar(map[json.Delim]string{'{': "{}", '[': "[]"}[open], after)
		_, err := d.Token()
		return err
	}
	if after {
		y.out.WriteByte('\n')
	}
	for first := !after; d.More(); first = false {
		if !first {
			y.out.WriteString(strings.Repeat(" ", indent))
		}
		if open == '[' {
			y.out.WriteString("- ")
			if err := y.value(d, indent+2, false); err != nil {
				return err
			}
			continue
		}
		key, err := d.Token()
		if err != nil {
			return err
		}
		y.out.WriteString(yamlWord(key.(string)) + ":")
		if err := y.value(d, indent+2, true); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// yamlPlain is what needs no quotes: nothing that could be read as a number, a comment or a mapping.
var yamlPlain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./@+-]*(?:[ :][A-Za-z0-9_./@+-]+)*$`)

// yamlReserved are words a YAML reader, of 1.1 too, takes for something else than text.
var yamlReserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// yamlText renders a text: several lines as a block, everything else as a word.
func yamlText(s string, indent int) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) < 2 || strings.ContainsFunc(s, harmful) || lines[0] == "" || lines[len(lines)-1] == "" || strings.ContainsAny(s[:1], " \t") ||
		slices.ContainsFunc(lines, func(l string) bool { return strings.TrimRight(l, " \t") != l }) {
		return yamlWord(s) // what readers disagree about in blocks
	}
	head := "|"
	if !strings.HasSuffix(s, "\n") {
		head = "|-"
	}
	margin := strings.Repeat(" ", max(indent, 2))
	for _, line := range lines {
		head += "\n"
		if line != "" {
			head += margin + line
		}
	}
	return head
}

// yamlWord renders a text of one line: bare if that is safe, else as a JSON string, which is YAML too.
func yamlWord(s string) string {
	if yamlPlain.MatchString(s) && !slices.Contains(yamlReserved, strings.ToLower(s)) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // a string cannot fail
	}
	return escaped(strings.TrimSuffix(b.String(), "\n"))
}
