package serve

import (
	"bufio"
	"slices"
	"strings"
	"testing"
)

// unwritten returns only read-only mappings of the program's own file that were not written to before they were
// protected.
func TestUnwritten(t *testing.T) {
	const smaps = `00400000-00d0e000 r-xp 00000000 fe:00 11004735                           /opt/gob lin
Size:               9272 kB
Anonymous:             0 kB
00d0e000-00e0e000 r--p 0090e000 fe:00 11004735                           /opt/gob lin
Anonymous:             4 kB
00e0e000-00f0e000 r--p 0090e000 fe:00 11004735                           /opt/gob lin
Anonymous:             0 kB
VmFlags: rd mr mw me sd
0162a000-01719000 rw-p 0122a000 fe:00 11004735                           /opt/gob lin
Anonymous:             0 kB
02000000-03000000 r--p 00000000 00:00 0
Anonymous:             0 kB
7f5857e90000-7f5857eb6000 r-xp 00000000 fe:00 326269                     /usr/lib/libc.so.6
Anonymous:             0 kB
`
	got := unwritten(bufio.NewScanner(strings.NewReader(smaps)), "/opt/gob lin")
	if want := []mapping{{0x400000, 0xd0e000}, {0xe0e000, 0xf0e000}}; !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// The program keeps running after its pages have been removed.
func TestForgetProgram(t *testing.T) {
	for range 10 {
		forgetProgram()
		TestUnwritten(t)
	}
}
