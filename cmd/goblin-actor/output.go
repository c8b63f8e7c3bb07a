package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"goblin-actor/internal/visible"
)

// format is how a command prints what it was asked for.
type format string

const (
	formatTable format = "table" // for people
	formatJSON  format = "json"  // the raw result, indented
	formatYAML  format = "yaml"
)

func (f *format) add(cmd *cobra.Command) {
	*f = formatTable
	cmd.Flags().VarP(f, "output", "o", "table, json or yaml")
}

// String, Set and Type make format a flag.
func (f *format) String() string { return string(*f) }

// Type names the flag's value in the help.
func (*format) Type() string { return "format" }

// Set takes one of the three words.
func (f *format) Set(s string) error {
	switch format(s) {
	case formatTable, formatJSON, formatYAML:
		*f = format(s)
		return nil
	}
	return fmt.Errorf("want table, json or yaml")
}

var errNotJSON = errors.New("the answer is not valid JSON")

// raw prints JSON as JSON or YAML. The values are as they came; characters that could steer a terminal are escaped.
func (f format) raw(w io.Writer, value []byte) error {
	if f == formatYAML {
		return writeYAML(w, value)
	}
	var out bytes.Buffer
	if json.Indent(&out, value, "", "  ") != nil {
		return errNotJSON
	}
	_, err := io.WriteString(w, visible.JSON(out.String())+"\n")
	return err
}

// table prints rows in columns under a head; columns that are empty in every row are left out.
// Cells must be clean. Each row has as many cells as the head.
func table(w io.Writer, head []string, rows [][]string) error {
	var out strings.Builder
	if width := widthOf(w); width > 0 {
		narrow(head, rows, width)
	}
	writeTable(&out, paletteFor(w), head, rows)
	_, err := io.WriteString(w, out.String())
	return err
}

// minLastColumn is what a table leaves of its last column on the narrowest terminal.
const minLastColumn = 24

// narrow cuts the cells of the last column so that the table fits, if that leaves enough of them.
func narrow(head []string, rows [][]string, width int) {
	last := len(head) - 1
	for column := range last {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[column]))
		}
		if widest > 0 {
			width -= 2 + max(widest, len(head[column]))
		}
	}
	for _, row := range rows {
		row[last] = oneLine(row[last], max(width, minLastColumn))
	}
}

func writeTable(out *strings.Builder, p palette, head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string, paint func(string) string) {
		var b strings.Builder
		for i, cell := range cells {
			if width[i] == 0 {
				continue
			}
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", max(width[i], len(head[i]))-utf8.RuneCountInString(cell)+2))
		}
		out.WriteString(paint(strings.TrimRight(b.String(), " ")))
		out.WriteByte('\n')
	}
	line(head, p.head)
	for _, row := range rows {
		line(row, plainly)
	}
}
