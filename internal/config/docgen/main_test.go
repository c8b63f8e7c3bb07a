package main

import (
	"bytes"
	"os"
	"testing"
)

func TestPageIsUpToDate(t *testing.T) {
	want, err := render()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		t.Error("docs/config.md does not match the comments of the keys: run go generate ./internal/config")
	}
}
