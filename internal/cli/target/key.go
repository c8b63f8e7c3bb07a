package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
)

// keyVariable is what stands for --key-file where the flag is missing: the key itself.
const keyVariable = "GOBLIN_KEY"

// maxKeyBytes is how long a credential may be: a gateway before ours may want another than our keys.
const maxKeyBytes = 8 << 10

// KeyFlag says which API key a command shows to the gateway.
type KeyFlag struct {
	file  string // holds it; "" = $GOBLIN_KEY does, if anything
	plain bool   // it may go unencrypted to another machine
}

func (f *KeyFlag) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "key-file", "", "file that holds the API key for the gateway (default: the key in $"+keyVariable+")")
	cmd.Flags().BoolVar(&f.plain, "plain-http", false, "send the key also to another machine's http://, where whoever is on the way reads it")
}

// Given reports whether anything was said on the command line.
func (f *KeyFlag) Given() bool { return f.file != "" || f.plain }

// ForGateway returns the key that is sent to the gateway at an address; "" = none is.
func (f *KeyFlag) ForGateway(at *url.URL, getenv func(string) string, errOut io.Writer) (string, error) {
	key, from, err := f.Read(getenv, errOut)
	if err != nil || key == "" {
		return "", err
	}
	return key, f.CheckTransport(from, at)
}

// CheckTransport refuses to send a key to another machine by http, where whoever is on the way could use it from then on. A name that only
// resolves to loopback is another machine's: it may resolve elsewhere tomorrow.
func (f *KeyFlag) CheckTransport(from string, at *url.URL) error {
	if f.plain || at.Scheme == "https" || client.IsLoopback(at.Hostname()) {
		return nil
	}
	return command.UsageError("name it by https:// if it has TLS; in a network in which nobody listens in, --plain-http",
		"%s: the key would go to http://%s, where others can read it on the way", from, terminal.Clean(at.Host))
}

// Read returns what is sent as Authorization: Bearer, and where it is from; "" = nothing. No error repeats any of it.
func (f *KeyFlag) Read(getenv func(string) string, errOut io.Writer) (key, from string, err error) {
	from, key = "$"+keyVariable, getenv(keyVariable)
	if f.file != "" {
		from = "--key-file " + terminal.Clean(f.file)
		if key, err = readKey(f.file, errOut); err != nil {
			return "", "", command.Fail(command.ExitUsage, fmt.Errorf("%s: %w", from, err), "it holds the key alone, as goblin-actor key new prints it")
		}
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "" && f.file == "":
		return "", "", nil
	case key == "":
		return "", "", command.UsageError("goblin-actor key new NAME >FILE fills it", "%s: it is empty", from)
	case auth.LooksLikeKey(key) && !auth.IsKey(key):
		return "", "", command.UsageError("copy all of it: gba_ and 49 characters", "%s: the key is cut or mistyped", from)
	case len(key) > maxKeyBytes, strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", "", command.UsageError("it is one word, as goblin-actor key new prints it", "%s: that is no key", from)
	}
	return key, from, nil
}

// readKey reads a file of one key. Others should not be able to.
func readKey(path string, errOut io.Writer) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		if e, ok := errors.AsType[*os.PathError](err); ok {
			err = e.Err
		}
		return "", err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0 && runtime.GOOS != "windows" {
		fmt.Fprintf(errOut, "%s others may read %s: chmod 600 %s\n", terminal.PaletteFor(errOut).Warn("warning:"), terminal.Clean(path), terminal.Clean(path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	return string(bytes.TrimSpace(data)), err
}
