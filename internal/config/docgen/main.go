// Command docgen writes docs/config.md, the reference of the configuration file, from the comments of the keys in internal/config.
//
//	go generate ./internal/config
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"strings"
	"text/template"

	"goblin-actor/internal/config"
)

//go:embed page.md.tmpl
var pageText string

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docgen FILE")
		os.Exit(2)
	}
	page, err := render()
	if err == nil {
		err = os.WriteFile(os.Args[1], page, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// render returns the page.
func render() ([]byte, error) {
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	page, err := template.New("page").Funcs(template.FuncMap{"cell": cell}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	sections, ignored := config.Reference()
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{"Sections": sections, "Ignored": strings.Join(ignored, "`, `"), "MiB": config.MaxFileBytes >> 20})
	return b.Bytes(), err
}
