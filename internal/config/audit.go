package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// AuditPath is where the audit log is, as an absolute path; "" when there is to be none.
func (c *Config) AuditPath() string {
	if c.Audit.File == "" {
		return ""
	}
	path := c.Beside(c.Audit.File)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// checkAudit finds what would keep the audit log from being written.
func (d *decoder) checkAudit(c *Config) {
	if c.Audit.File == "" {
		if o := d.report.origins["audit"]; c.Audit.Required {
			d.complain("audit", "it is required, and names no file", "write file: audit.jsonl")
		} else if o.line > 0 {
			d.warn(o.line, o.column, "audit", "without a file nothing is recorded", "write file: audit.jsonl")
		}
		return
	}
	path := c.AuditPath()
	for _, other := range []struct{ key, file string }{{"auth.keys", c.Auth.Keys}, {"tls.cert", c.TLS.Cert}, {"tls.key", c.TLS.Key}} {
		if other.file != "" && sameFile(path, c.Beside(other.file)) {
			d.complain("audit.file", "it is the file of "+other.key, "name a file of its own: audit.jsonl")
		}
	}
	if c.Path != "" && sameFile(path, c.Path) {
		d.complain("audit.file", "it is this configuration", "name a file of its own: audit.jsonl")
	}
	if d.read == nil {
		return
	}
	if fault := auditFault(path); fault != "" {
		d.complain("audit.file", fault, "name a file in a directory that is there, and yours: the gateway makes the file, not the directory")
	}
}

// auditFault says why there can be no audit log at path; "" when there can. It writes nothing.
func auditFault(path string) string {
	switch info, err := os.Stat(filepath.Dir(path)); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no directory %q", clip(filepath.Dir(path)))
	case err != nil:
		return err.Error()
	case !info.IsDir():
		return fmt.Sprintf("%q is no directory", clip(filepath.Dir(path)))
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return err.Error()
	case info.Mode()&fs.ModeSymlink != 0:
		return "it is a symbolic link, which the audit log does not follow"
	case !info.Mode().IsRegular():
		return "it is no regular file"
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err.Error()
	}
	if err := f.Close(); err != nil {
		return err.Error()
	}
	return ""
}

func sameFile(a, b string) bool {
	absolute, err := filepath.Abs(a)
	if other, otherErr := filepath.Abs(b); err == nil && otherErr == nil && absolute == other {
		return true
	}
	is, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(is, other)
}
