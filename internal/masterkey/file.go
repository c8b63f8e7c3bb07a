package masterkey

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	maxFile = 1 << 10    // maximum size of the file in bytes
	inRing  = "keyring " // precedes the name of an entry in the file
)

// fromFile reads the key's file, and creates it if it does not exist. If o.Move is set, it moves a key in the file to
// the keyring.
func fromFile(o Options) (*Master, error) {
	path := filepath.Join(o.Dir, File)
	m, err := readFile(path, o.Keyring)
	if err == nil && o.Move && m.file != "" {
		return moved(m, o)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create directory of master key: %w", err)
	}
	secret := make([]byte, keyLength)
	_, _ = rand.Read(secret) // never fails
	written, where := base64.RawStdEncoding.EncodeToString(secret), path
	if o.Move {
		entry, err := enter(o.Keyring, written)
		if err != nil {
			return nil, err
		}
		written, where = inRing+entry, "the user's keyring"
	}
	switch err := publish(path, written+"\n"); {
	case errors.Is(err, fs.ErrExist): // created by another gateway in the meantime
	case err != nil:
		return nil, fmt.Errorf("store master key: %w", err)
	default:
		o.Log.Info("created a master key for secrets in the state file", "kept", where)
	}
	return readFile(path, o.Keyring)
}

// enter stores a key in a new keyring entry and returns the name of the entry.
func enter(ring Keyring, written string) (entry string, err error) {
	if ring == nil {
		return "", fmt.Errorf("%w: no keyring is available", ErrUnreachable)
	}
	name := make([]byte, 8)
	_, _ = rand.Read(name)
	entry = "master-" + hex.EncodeToString(name)
	if err := ring.Set(entry, written); err != nil {
		return "", fmt.Errorf("%w: it cannot be stored in the user's keyring: %w", ErrUnreachable, err)
	}
	return entry, nil
}

// moved moves the key from its file to the keyring. The key does not change, so sealed data stays readable.
func moved(m *Master, o Options) (*Master, error) {
	entry, err := enter(o.Keyring, base64.RawStdEncoding.EncodeToString(m.secret))
	if err != nil {
		return nil, err
	}
	temporary, err := temporaryFile(m.file, inRing+entry+"\n")
	if err == nil {
		if err = os.Rename(temporary, m.file); err != nil {
			err = errors.Join(err, os.Remove(temporary))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: it was copied to the user's keyring, but %s could not be changed to refer to it: %w", ErrUnreachable, m.file, err)
	}
	o.Log.Info("moved the master key of the state file to the user's keyring")
	return &Master{secret: m.secret}, nil
}

// readFile reads the key from the file, or from the keyring entry that it names. If the keyring no longer has the
// entry, the key is lost: readFile removes the file and returns fs.ErrNotExist, so that a new key is created.
func readFile(path string, ring Keyring) (*Master, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrUnreachable, path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%w: other users can read or write %s; run chmod 600, or remove it if they may have read it", ErrUnreachable, path)
	}
	raw, err := readSmall(path, maxFile)
	if err != nil {
		return nil, err
	}
	text := string(bytes.TrimSpace(raw))
	entry, ringed := strings.CutPrefix(text, inRing)
	if ringed {
		if ring == nil {
			return nil, fmt.Errorf("%w: it is in the user's keyring, which is not available to this process", ErrUnreachable)
		}
		if text, err = ring.Get(entry); err != nil {
			return nil, lost(path, inRing+entry, err)
		}
	}
	secret, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(secret) != keyLength {
		return nil, fmt.Errorf("%w: %s does not contain a key; remove it to create a new one, and log in again", ErrUnreachable, path)
	}
	m := &Master{secret: secret}
	if !ringed {
		m.file = path
	}
	return m, nil
}

// lost returns the error for a failed keyring lookup of the entry that marker, the text of the file at path, names. If
// the keyring no longer has the entry, lost removes the file and returns fs.ErrNotExist, so that a new key is created.
// It keeps a file that another gateway has created since the marker was read.
func lost(path, marker string, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: it is in the user's keyring: %w", ErrUnreachable, err)
	}
	if err := removeMarker(path, marker); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the keyring no longer contains it, and its marker file cannot be removed: %w", ErrUnreachable, err)
	}
	return fs.ErrNotExist
}

// removeMarker removes the file at path unless its text is no longer marker. It moves the file aside before it looks,
// because another gateway may replace the file at any time.
func removeMarker(path, marker string) error {
	name := make([]byte, 8)
	_, _ = rand.Read(name)
	aside := path + "." + hex.EncodeToString(name)
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	raw, err := readSmall(aside, maxFile)
	if err == nil && string(bytes.TrimSpace(raw)) != marker {
		if err = publish(path, string(raw)); errors.Is(err, fs.ErrExist) {
			err = nil // another gateway was faster
		}
	}
	return errors.Join(err, os.Remove(aside))
}

// publish creates the file. It returns fs.ErrExist if the file exists. Creation is atomic unless the file system has no
// hard links.
func publish(path, text string) error {
	temporary, err := temporaryFile(path, text)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary) }()
	if err := os.Link(temporary, path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // the file system has no hard links
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// temporaryFile creates a new file with text in the directory of path, and returns its path.
func temporaryFile(path, text string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), File+".*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return raw, err
}

// syncFile flushes the file and its directory to disk.
func syncFile(path string) error {
	for _, name := range []string{path, filepath.Dir(path)} {
		if name != path && runtime.GOOS == "windows" { // directories cannot be synced
			return nil
		}
		f, err := os.OpenFile(name, os.O_RDONLY, 0)
		if runtime.GOOS == "windows" {
			f, err = os.OpenFile(name, os.O_RDWR, 0)
		}
		if err != nil {
			return err
		}
		err = f.Sync()
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return fmt.Errorf("sync master key: %w", err)
		}
	}
	return nil
}
