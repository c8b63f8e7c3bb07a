package lint

import "testing"

// A prefix is doubled if more than half of the server's own names start with it as a word.
func TestDoubledPrefix(t *testing.T) {
	for _, c := range []struct {
		name  string
		tools []Named
		want  string
	}{
		{"every name", []Named{{"git_log", "git_git_log"}, {"git_diff", "git_git_diff"}}, "git_git_log"},
		{"the whole name", []Named{{"fetch", "fetch_fetch"}}, "fetch_fetch"},
		{"other capitals and separators", []Named{{"Git-log", "git__Git-log"}}, "git__Git-log"},
		{"most names", []Named{{"a", "git_a"}, {"git_log", "git_git_log"}, {"git_diff", "git_git_diff"}}, "git_git_log"},
		{"half of the names", []Named{{"a", "git_a"}, {"git_log", "git_git_log"}}, ""},
		{"part of a word", []Named{{"gitignore", "git_gitignore"}}, ""},
		{"no prefix", []Named{{"git_log", "git_log"}}, ""},
		{"another name", []Named{{"git.log", "git_git_log"}}, ""},
		{"no tools", nil, ""},
	} {
		if got := DoubledPrefix(c.tools); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
