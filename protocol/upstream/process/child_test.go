package process

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

const childRole = "TRANSPORT_TEST_CHILD" // if set, the test binary acts as a server

// The test binary also acts as the programs that the tests start. It does so in init, before any test can run.
func init() {
	role := os.Getenv(childRole)
	if role == "" {
		return
	}
	name, argument, _ := strings.Cut(role, ":")
	roles := map[string]func(string){
		"echo": childEcho, "print": childPrint, "deaf": childDeaf, "exit": childExit,
		"stubborn": childStubborn, "family": childFamily, "sleep": childSleep, "big": childBig,
		"witness": childWitness, "count": childCount, "stderr": childStderr, "mute": childMute, "parent": childParent,
	}
	roles[name](argument)
	os.Exit(0)
}

// childOptions returns options that run the test binary in a role.
func childOptions(t testing.TB, role string) Options {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Command: program, Env: append(os.Environ(), childRole+"="+role, "GORACE=atexit_sleep_ms=0")}
}

// childEcho echoes every line until the end of its input.
func childEcho(string) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		os.Stdout.Write(line)
		if err != nil {
			return
		}
	}
}

// childPrint prints a Go string literal and waits for the end of its input.
func childPrint(literal string) {
	text, err := strconv.Unquote(literal)
	if err != nil {
		panic(err)
	}
	io.WriteString(os.Stdout, text)
	io.Copy(io.Discard, os.Stdin)
}

// childDeaf never reads its input.
func childDeaf(string) { time.Sleep(time.Hour) }

// childExit writes to stdout and stderr and exits with a code. With a "+" after the code, it first reads a line.
func childExit(code string) {
	if rest, wait := strings.CutSuffix(code, "+"); wait {
		code = rest
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	fmt.Fprintln(os.Stderr, "about to exit")
	fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	n, _ := strconv.Atoi(code)
	os.Exit(n)
}

// childStubborn ignores the end of its input and SIGTERM.
func childStubborn(string) {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	time.Sleep(time.Hour)
}

func childSleep(string) { time.Sleep(time.Hour) }

// childFamily starts a grandchild that holds stdout, and prints the grandchild's pid. Then it exits ("exit") or waits
// for the end of its input ("stay").
func childFamily(what string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"=sleep")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Printf(`{"jsonrpc":"2.0","method":"pid","params":{"pid":%d}}`+"\n", cmd.Process.Pid)
	if what == "stay" {
		io.Copy(io.Discard, os.Stdin)
	}
}

// childWitness writes a record to the given directory when it gets SIGTERM, and has a grandchild that does the same. how
// says what happens before SIGTERM: "stay" ignores the end of input, "break" closes stdout, "exit" exits while the grandchild
// runs. After SIGTERM, the child waits for the grandchild's record and exits.
func childWitness(argument string) {
	how, dir, _ := strings.Cut(argument, ",")
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	record := func(name string) { os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
	recorded := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	if how == "grandchild" {
		record("ready")
		<-terminated
		record("grandchild")
		return
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"=witness:grandchild,"+dir)
	if how == "exit" {
		cmd.Stdout = os.Stdout // the link reads it for a while before it kills the group
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	for !recorded("ready") {
		time.Sleep(time.Millisecond)
	}
	switch fmt.Println(`{"jsonrpc":"2.0","method":"ready"}`); how {
	case "exit":
		return
	case "break":
		os.Stdout.Close()
	}
	<-terminated
	record("child")
	for !recorded("grandchild") {
		time.Sleep(time.Millisecond)
	}
}

// childBig prints a line of the given size, then a short one.
func childBig(size string) {
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

// childCount reads its input to the end and prints the number of bytes.
func childCount(string) {
	n, _ := io.Copy(io.Discard, os.Stdin)
	fmt.Printf(`{"jsonrpc":"2.0","method":"count","params":{"n":%d}}`+"\n", n)
}

// childStderr writes the given number of lines to stderr, then a long one.
func childStderr(lines string) {
	n, _ := strconv.Atoi(lines)
	for i := range n {
		fmt.Fprintf(os.Stderr, "line %d\r\n", i)
	}
	fmt.Fprintln(os.Stderr, strings.Repeat("z", 10000))
}

// childMute closes its stdout and keeps running.
func childMute(string) {
	os.Stdout.Close()
	time.Sleep(time.Hour)
}

// childParent opens a link to a child, prints the child's pid, and waits to be killed.
func childParent(string) {
	program, _ := os.Executable()
	opened := make(chan int, 1)
	Open(Options{Command: program, Env: append(os.Environ(), childRole+"=stubborn")}, linktest.Sink(func(e upstream.Event) {
		if e, ok := e.(upstream.Opened); ok {
			opened <- e.PID
		}
	}))
	fmt.Println(<-opened)
	time.Sleep(time.Hour)
}
