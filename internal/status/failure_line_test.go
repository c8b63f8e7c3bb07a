package status

import (
	"strings"
	"testing"
)

func TestFailureLine(t *testing.T) {
	for _, c := range []struct{ name, stderr, want string }{
		{"nothing", "", ""},
		{"npm", `npm warn Unknown user config "nodedir". This will stop working in the next major version of npm.
npm error code E404
npm error 404 Not Found - GET https://npm.example/@x%2fy - Not found
npm error 404
npm error 404  '@x/y@*' is not in this registry.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log`,
			"npm error 404 Not Found - GET https://npm.example/@x%2fy - Not found"},
		{"npm version", "npm ERR! code ETARGET\nnpm ERR! notarget No matching version found for cowsay@99.9.9.\nnpm ERR! notarget In most cases you …",
			"npm ERR! notarget No matching version found for cowsay@99.9.9."},
		{"npm code alone", "npm error code EACCES\nnpm error syscall mkdir\nnpm error A complete log of this run can be found in: x", "npm error code EACCES"},
		{"python", "INFO: starting\nTraceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nValueError: first\n\nDuring handling\nModuleNotFoundError: No module named 'mcp'",
			"ValueError: first"},
		{"python, other exception", "INFO: starting\nTraceback (most recent call last):\n  File \"<string>\", line 1\nboto.exceptions.NoCredentials: Unable to locate them", "boto.exceptions.NoCredentials: Unable to locate them"},
		{"a warning before the error", "DeprecationWarning: old is required\nError: ISSUES_TOKEN is not set\n    at main (index.js:3)\nTypeError: later", "Error: ISSUES_TOKEN is not set"},
		{"java", "Exception in thread \"main\" java.lang.IllegalStateException: no token\n\tat a.B.main(B.java:3)\nCaused by: java.io.IOException: closed", "Exception in thread \"main\" java.lang.IllegalStateException: no token"},
		{"log lines", "2026-11-28 INFO ready\nERROR: cannot bind\nINFO: stopped", "ERROR: cannot bind"},
		{"python file", "python3: can't open file '/srv/server.py': [Errno 2] No such file or directory", "python3: can't open file '/srv/server.py': [Errno 2] No such file or directory"},
		{"node", "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/tmp/server.js'\n    at Module._load (node:x)\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2",
			"Error: Cannot find module '/tmp/server.js'"},
		{"docker", "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n\nRun 'docker run --help' for more information",
			"docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"},
		{"words", "starting\nGITHUB_TOKEN is not set\nbye", "GITHUB_TOKEN is not set"},
		{"options", "ls: unrecognized option '--nonsense'\nTry 'ls --help' for more information.", "ls: unrecognized option '--nonsense'"},
		{"last", "one\ntwo", "two"},
		{"cut between characters", strings.Repeat("é", 600), strings.Repeat("é", 512)},
		{"cut inside a character", "x" + strings.Repeat("é", 600), "x" + strings.Repeat("é", 511)},
		{"not UTF-8", strings.Repeat("\x80", 1100), strings.Repeat("\x80", 1020)},
		{"only uninformative lines", "npm warn deprecated x\n", "npm warn deprecated x"},
	} {
		if got := FailureLine(strings.Split(c.stderr, "\n")); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
