package gatetest

import (
	"slices"
	"testing"
)

func TestVT(t *testing.T) {
	v := NewVT(6, 2)
	v.Feed("\x1b[?1049h\x1b[H\x1b[2Jab\x1b[1;31mc\x1b[2;3Hx–y\x1b]52;c;eA==\a\x1b(B\x1b[1;5H\x1b[K\x1b[2;5H漢\x1b[?25")
	if want := "abc\n  x–漢\n"; v.String() != want || v.Faults != nil {
		t.Errorf("got %q, want %q; faults %q", v.String(), want, v.Faults)
	}
	v.Feed("\x1b]0;title\a\x1bc\x1b[5S\x01\u0085")
	if want := []string{`OSC "0;title\a"`, `escape 'c'`, `CSI 5 S`, `control character '\x01'`, `control character '\u0085'`}; !slices.Equal(v.Faults, want) {
		t.Errorf("faults %q, want %q", v.Faults, want)
	}
}
