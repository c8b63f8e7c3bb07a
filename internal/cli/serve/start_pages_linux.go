package serve

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetProgram removes the pages of the program's file from the process. The start touches nearly all of them, but an
// idle gateway needs only a quarter. When a page is needed again, the kernel maps it from its cache, 64 KiB at a time.
// If forgetProgram fails, the process only uses more memory.
func forgetProgram() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	for _, m := range unwritten(bufio.NewScanner(file), self) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// unwritten returns the read-only mappings of a file whose pages all equal the file. It excludes mappings that a linker
// modified at the start and then protected: their content would be lost.
func unwritten(smaps *bufio.Scanner, path string) (list []mapping) {
	var of mapping
	var ours bool
	for smaps.Scan() {
		line := smaps.Text()
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 5 && !strings.HasSuffix(fields[0], ":"): // 00400000-00d0e000 r-xp 00000000 fe:00 11004735   /usr/bin/goblin-actor
			n, err := fmt.Sscanf(fields[0], "%x-%x", &of.from, &of.to)
			ours = err == nil && n == 2 && strings.HasSuffix(line, " "+path) && strings.HasPrefix(fields[1], "r") && fields[1][1] == '-'
		case ours && fields[0] == "Anonymous:":
			if fields[1] == "0" {
				list = append(list, of)
			}
			ours = false
		}
	}
	return list
}
