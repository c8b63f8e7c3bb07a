package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const processTestRole = "TRANSPORT_TEST_CHILD" // set: this binary plays a server

// The test binary is every program the tests start. An init and no TestMain: it must not run a single test.
func init() {
	role := os.Getenv(processTestRole)
	if role == "" {
		return
	}
	name, argument, _ := strings.Cut(role, ":")
	roles := map[string]func(string){
		"echo": processChildEcho, "print": processChildPrint, "deaf": processChildDeaf, "exit": processChildExit,
		"stubborn": processChildStubborn, "family": processChildFamily, "sleep": processChildSleep, "big": processChildBig,
		"count": processChildCount, "stderr": processChildStderr, "mute": processChildMute, "parent": processChildParent,
	}
	roles[name](argument)
	os.Exit(0)
}

// processTestOptions runs the test binary in a role.
func processTestOptions(t testing.TB, role string) ProcessOptions {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return ProcessOptions{Command: program, Env: append(os.Environ(), processTestRole+"="+role, "GORACE=atexit_sleep_ms=0")}
}

// processChildEcho answers every line with itself and ends with its input.
func processChildEcho(string) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		os.Stdout.Write(line)
		if err != nil {
			return
		}
	}
}

// processChildPrint prints the Go string literal it was given and waits for the end of its input.
func processChildPrint(literal string) {
	text, err := strconv.Unquote(literal)
	if err != nil {
		panic(err)
	}
	io.WriteString(os.Stdout, text)
	io.Copy(io.Discard, os.Stdin)
}

// processChildDeaf never reads.
func processChildDeaf(string) { time.Sleep(time.Hour) }

// processChildExit says something on both pipes and exits with the code it was given, once a line has come in if there is a "+".
func processChildExit(code string) {
	if rest, wait := strings.CutSuffix(code, "+"); wait {
		code = rest
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	fmt.Fprintln(os.Stderr, "about to exit")
	fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	n, _ := strconv.Atoi(code)
	os.Exit(n)
}

// processChildStubborn takes note of nothing: not of the end of its input, not of SIGTERM.
func processChildStubborn(string) {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	time.Sleep(time.Hour)
}

func processChildSleep(string) { time.Sleep(time.Hour) }

// processChildFamily starts a grandchild that holds stdout, prints its pid and does what it was told: "exit" or "stay".
func processChildFamily(what string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processTestRole+"=sleep")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Printf(`{"jsonrpc":"2.0","method":"pid","params":{"pid":%d}}`+"\n", cmd.Process.Pid)
	if what == "stay" {
		io.Copy(io.Discard, os.Stdin)
	}
}

// processChildBig prints a line of so many bytes, then a short one.
func processChildBig(size string) {
	n, _ := strconv.Atoi(size)
	head, tail := `{"jsonrpc":"2.0","id":1,"result":{"text":"`, `"}}`
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	out.WriteString(head)
	block := bytes.Repeat([]byte("x"), 4096)
	for left := n - len(head) - len(tail); left > 0; left -= len(block) {
		out.Write(block[:min(left, len(block))])
	}
	out.WriteString(tail + "\n" + `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n")
	out.Flush()
	io.Copy(io.Discard, os.Stdin)
}

// processChildCount reads all its input slowly at first and says how many bytes there were.
func processChildCount(string) {
	n, _ := io.Copy(io.Discard, os.Stdin)
	fmt.Printf(`{"jsonrpc":"2.0","method":"count","params":{"n":%d}}`+"\n", n)
}

// processChildStderr writes so many lines there, the last one long.
func processChildStderr(lines string) {
	n, _ := strconv.Atoi(lines)
	for i := range n {
		fmt.Fprintf(os.Stderr, "line %d\r\n", i)
	}
	fmt.Fprintln(os.Stderr, strings.Repeat("z", 10000))
}

// processChildMute closes its stdout and lives on.
func processChildMute(string) {
	os.Stdout.Close()
	time.Sleep(time.Hour)
}

// processChildParent opens a link to a child of its own, prints that one's pid and waits to be killed.
func processChildParent(string) {
	program, _ := os.Executable()
	opened := make(chan int, 1)
	OpenProcess(ProcessOptions{Command: program, Env: append(os.Environ(), processTestRole+"=stubborn")}, sinkFunc(func(e Event) {
		if e, ok := e.(Opened); ok {
			opened <- e.PID
		}
	}))
	fmt.Println(<-opened)
	time.Sleep(time.Hour)
}
