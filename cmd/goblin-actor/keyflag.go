package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/auth"
)

// keyVariable is what stands for --key-file where the flag is missing: the key itself.
const keyVariable = "GOBLIN_KEY"

// maxKeyBytes is how long a credential may be: a gateway before ours may want another than our keys.
const maxKeyBytes = 8 << 10

func keyFileFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "key-file", "", "file that holds the API key for the gateway (default: the key in $"+keyVariable+")")
}

// apiKey returns what is sent as Authorization: Bearer; "" = nothing. No error repeats any of it.
func apiKey(file string, getenv func(string) string, errOut io.Writer) (string, error) {
	from, key := "$"+keyVariable, getenv(keyVariable)
	if file != "" {
		from = "--key-file " + clean(file)
		var err error
		if key, err = readKey(file, errOut); err != nil {
			return "", &exitError{exitUsage, fmt.Errorf("%s: %w", from, err), "it holds the key alone, as goblin-actor key new prints it"}
		}
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "" && file == "":
		return "", nil
	case key == "":
		return "", usageError("goblin-actor key new NAME >FILE fills it", "%s: it is empty", from)
	case auth.LooksLikeKey(key) && !auth.IsKey(key):
		return "", usageError("copy all of it: gba_ and 49 characters", "%s: the key is cut or mistyped", from)
	case len(key) > maxKeyBytes, strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", usageError("it is one word, as goblin-actor key new prints it", "%s: that is no key", from)
	}
	return key, nil
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
		fmt.Fprintf(errOut, "%s others may read %s: chmod 600 %s\n", paletteFor(errOut).warn("warning:"), clean(path), clean(path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	return string(bytes.TrimSpace(data)), err
}
