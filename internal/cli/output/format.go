package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"goblin-actor/internal/visible"
)

// Format is the format in which a command prints its result.
type Format string

// The output formats.
const (
	Table Format = "table" // for users
	JSON  Format = "json"  // the raw result, indented
	YAML  Format = "yaml"
)

// AddFlag adds the flag --output to a command.
func (f *Format) AddFlag(cmd *cobra.Command) {
	*f = Table
	cmd.Flags().VarP(f, "output", "o", "output format: table, json or yaml")
}

// String returns the name of the format. String, Set and Type implement pflag.Value.
func (f *Format) String() string { return string(*f) }

// Type names the flag's value in the help.
func (*Format) Type() string { return "format" }

// Set accepts table, json or yaml.
func (f *Format) Set(s string) error {
	switch Format(s) {
	case Table, JSON, YAML:
		*f = Format(s)
		return nil
	}
	return fmt.Errorf("expected table, json or yaml")
}

var errNotJSON = errors.New("the answer is not valid JSON")

// Write prints value, which is JSON, as indented JSON or as YAML. It escapes characters that could control a terminal.
func (f Format) Write(w io.Writer, value []byte) error {
	if f == YAML {
		return writeYAML(w, value)
	}
	var out bytes.Buffer
	if json.Indent(&out, value, "", "  ") != nil {
		return errNotJSON
	}
	_, err := io.WriteString(w, visible.JSON(out.String())+"\n")
	return err
}

// WriteLine encodes a value and prints it as one line of JSON or as one YAML document.
func (f Format) WriteLine(w io.Writer, value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if f == YAML {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
		return writeYAML(w, line.Bytes())
	}
	_, err := io.WriteString(w, visible.JSON(string(bytes.TrimSuffix(line.Bytes(), []byte("\n"))))+"\n")
	return err
}
