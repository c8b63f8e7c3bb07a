package output

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	err := PrintTable(&b, []string{"NAME", "NOTHING", "ABOUT"}, [][]string{{"a", "", "first"}, {"née", "", ""}})
	want := "NAME  ABOUT\na     first\nnée\n"
	if err != nil || b.String() != want {
		t.Errorf("table = %q, %v, want %q", b.String(), err, want)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	rows := [][]string{{"a_long_name", "s", strings.Repeat("word ", 20)}}
	narrow([]string{"NAME", "SERVER", "DESCRIPTION"}, rows, 60)
	if got, want := rows[0][2], strings.Repeat("word ", 7)+"wor…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
