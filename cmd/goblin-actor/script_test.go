package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/demo"
	"goblin-actor/internal/gatetest"
)

func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") { // this process runs the tests; otherwise a script started it as the program
		program.SetName("goblin-actor")
	}
	testscript.Main(m, map[string]func(){"goblin-actor": main, "odd-server": oddServer})
}

// TestScripts runs testdata/*.txtar with the real program. Besides testscript's own commands there are
//
//	daemon VAR args…   starts goblin-actor with args in the background. $VAR is the URL in its first line of stdout, and
//	                   $VAR_PORT the port. For serve, it waits until the gateway is ready. At the end the program gets
//	                   SIGTERM and must exit with 0.
//	ended VAR          waits until the program that daemon VAR started has ended by itself; the exit code must be 0
//	forge VAR          serves the test server forge over HTTP; its URL is $VAR
//	interrupt args…    runs goblin-actor and interrupts it after its first line; requires exit code 130. With ! it must not
//	                   print an error after the interruption.
//	envsubst FILE      replaces each $VAR in the file with the value of the script's variable
//	retry TEXT goblin-actor args…
//	                   repeats the command until it succeeds and its output contains TEXT, or with !TEXT does not
//	certify NAME       writes NAME.crt and NAME.key, a self-signed certificate for localhost
//	nodes CALLS        runs the audit logs of three nodes for a while
//	code N args…       runs goblin-actor and requires exit code N; stdout and stderr can be matched afterwards
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			dir, err := os.MkdirTemp("", "goblin") // short, because socket paths are limited
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(dir) })
			e.Setenv("XDG_RUNTIME_DIR", dir)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("GOBLIN_CONFIG", "")
			e.Setenv("GOBLIN_CONNECT", "")
			e.Setenv("GOBLIN_KEY", "")
			e.Setenv("GORACE", "atexit_sleep_ms=20") // otherwise every command takes a second with the race detector
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"daemon": daemon, "ended": ended, "forge": forge, "interrupt": interrupt, "code": code, "envsubst": envsubst, "retry": retry, "certify": certify,
			"nodes": nodes,
		},
	})
}

// goblinActor returns a command for goblin-actor in the script's directory and environment.
func goblinActor(ts *testscript.TestScript, args []string) *exec.Cmd {
	program := "goblin-actor"
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, program); fileExists(path) {
			program = path
			break
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "GOBLIN_CONFIG", "GOBLIN_CONNECT", "GOBLIN_KEY", "SSL_CERT_FILE", "TMPDIR", "NO_COLOR", "GORACE"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	return cmd
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func daemon(ts *testscript.TestScript, _ bool, args []string) {
	cmd := goblinActor(ts, args[1:])
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	var log strings.Builder
	cmd.Stderr = &log
	ts.Check(cmd.Start())
	end := sync.OnceFunc(func() {
		if err := cmd.Wait(); err != nil {
			ts.Logf("%s\n%s", args, log.String())
			ts.Fatalf("%s ended with %v", args, err)
		}
	})
	daemons.Store(ts.Getenv("WORK")+args[0], end)
	ts.Defer(func() {
		if ts.Getenv(args[0]+"_ENDED") == "" {
			cmd.Process.Signal(syscall.SIGTERM)
		}
		end()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	url := strings.TrimSpace(line)
	root := strings.TrimSuffix(url, "/mcp")
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_PORT", root[strings.LastIndex(root, ":")+1:])
	if args[1] == "serve" {
		awaitReady(ts, root+"/readyz")
	}
}

// daemons holds, by directory and name, a function for each running daemon. The function waits until the daemon has
// ended.
var daemons sync.Map

func ended(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0]+"_ENDED", "yes")
	end, _ := daemons.Load(ts.Getenv("WORK") + args[0])
	end.(func())()
}

func awaitReady(ts *testscript.TestScript, url string) {
	for deadline := time.Now().Add(gatetest.Patience); ; time.Sleep(20 * time.Millisecond) {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		resp, err := client.Get(url)
		ts.Check(err)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: still %s", url, resp.Status)
		}
	}
}

func certify(ts *testscript.TestScript, _ bool, args []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for name, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]+name), pem.EncodeToMemory(block), 0o600))
	}
}

func interrupt(ts *testscript.TestScript, quietly bool, args []string) {
	cmd := goblinActor(ts, args)
	pipe, w, err := os.Pipe()
	ts.Check(err)
	defer pipe.Close()
	cmd.Stdout, cmd.Stderr = w, w
	ts.Check(cmd.Start())
	w.Close()
	r := bufio.NewReader(pipe)
	_, err = r.ReadString('\n')
	ts.Check(err)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	for err == nil {
		var line string
		if line, err = r.ReadString('\n'); quietly && strings.HasPrefix(line, "error:") {
			ts.Fatalf("after the interruption the command prints %s", line)
		}
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != command.ExitInterrupted {
		ts.Fatalf("exit code %d, want %d", got, command.ExitInterrupted)
	}
}

func code(ts *testscript.TestScript, _ bool, args []string) {
	want := 0
	_, err := fmt.Sscan(args[0], &want)
	ts.Check(err)
	err = ts.Exec("goblin-actor", args[1:]...)
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// retry repeats a command until it succeeds and its output contains TEXT, or with !TEXT does not contain it. Scripts
// use it after they have written a file that takes effect a moment later.
func retry(ts *testscript.TestScript, _ bool, args []string) {
	text, absent := strings.CutPrefix(args[0], "!")
	for deadline := time.Now().Add(gatetest.Patience); ; time.Sleep(50 * time.Millisecond) {
		cmd := goblinActor(ts, args[2:])
		out, err := cmd.CombinedOutput()
		if err == nil && strings.Contains(string(out), text) != absent {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q: still %v\n%s", args, err, out)
		}
	}
}

func envsubst(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, []byte(os.Expand(ts.ReadFile(path), ts.Getenv)), 0o600))
}

// forge starts a server with items that are hard to print.
func forge(ts *testscript.TestScript, _ bool, args []string) {
	s := demo.New("forge", "1")
	tool := func(name string, handle demo.Handler) {
		s.AddTool(demo.Tool{Name: name, Description: "\x1b[31mred\x1b[0m\nsecond line", Handle: handle})
	}
	type raw = map[string]any
	content := func(blocks ...raw) demo.Handler {
		return func(*demo.Call) (any, error) { return raw{"content": blocks}, nil }
	}
	tool("paint", content(raw{"type": "text", "text": "\x1b]0;owned\x07 \u009b31m plain"}))
	tool("picture", content(raw{"type": "image", "data": "aGVsbG8h", "mimeType": "image/png"}, raw{"type": "resource_link", "uri": "a:b", "name": "link"},
		raw{"type": "resource", "resource": raw{"uri": "a:c", "text": "embedded"}}))
	tool("structured", func(*demo.Call) (any, error) {
		return raw{"content": []raw{}, "structuredContent": raw{"n": 1}}, nil
	})
	tool("echo", func(c *demo.Call) (any, error) { return demo.Text("%s", c.Arguments), nil })
	tool("fail", func(*demo.Call) (any, error) { return nil, &demo.Error{Code: -32000, Message: "\x1b[31mno"} })
	tool("page", func(*demo.Call) (any, error) {
		return nil, &demo.Error{Code: -32042, Message: "log in first", Data: []byte(`{"elicitations":[{"mode":"url","url":"https://example.com/\u001b[2J","message":"log in"}]}`)}
	})
	s.SetResource(demo.Resource{URI: "forge:blob", Name: "blob", Handle: func(*demo.Call) (any, error) {
		return raw{"contents": []raw{{"uri": "forge:blob", "blob": "AAEC/w=="}}}, nil
	}})
	s.SetResource(demo.Resource{URI: "forge:text", Name: "text", Handle: func(*demo.Call) (any, error) {
		return raw{"contents": []raw{{"uri": "forge:text", "text": "\x1b[31mred"}}}, nil
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- demo.ServeHTTP(ctx, s, l, slog.New(slog.DiscardHandler)) }()
	ts.Defer(func() {
		stop()
		<-done
	})
	ts.Setenv(args[0], "http://"+l.Addr().String()+"/mcp")
}
