package status

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/pattern"
)

// maxOutputLine limits how much of a line is examined and returned, in bytes.
const maxOutputLine = 1 << 10

// explanations are patterns of lines that explain a failure, the most specific first. Of the lines that match a pattern, the first
// is used: of several exceptions, it is usually the cause of the others. If last is set, the last one is used, because the
// pattern also matches other output.
var explanations = []struct {
	line func() *regexp.Regexp
	last bool
}{
	{pattern.Lazy(`^npm (?:error|ERR!) (?:404 +Not Found|404 +'|notarget No matching|could not determine|enoent |network |Missing )`), false},
	{pattern.Lazy(`^npm (?:error|ERR!) code E`), false},
	{pattern.Lazy(`(?i)cannot connect to the docker daemon|unable to find image|pull access denied|manifest unknown`), false},
	{pattern.Lazy(`^(?:Uncaught |Caused by: )?(?:[A-Za-z_][\w.]*)?(?:[Ee]rror|ERROR|Exception|Exit|Interrupt|Failure|Timeout)(?: in thread "[^"]*" \S+| \[\w+\])?: `), false}, // ModuleNotFoundError: …, Error: …
	{pattern.Lazy(`(?i)can't open file|no such file or directory|permission denied|command not found|eaddrinuse|address already in use`), false},
	{pattern.Lazy(`(?i)\b(?:error|fatal|panic|failed|cannot|could not|missing|required|not set|unauthorized|invalid|unrecognized|unknown)\b`), false},
	{pattern.Lazy(`^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*: `), true}, // NoCredentials: …
}

// uninformative matches lines that never explain a failure: final lines of npm and Node, traces, underlines.
var uninformative = pattern.Lazy(`^(?:npm (?:warn|WARN|notice)\b.*|npm (?:error|ERR!) (?:A complete log of this run|This is probably not a problem|404 *$|Note that).*|npm (?:error|ERR!) *|` +
	`Node\.js v\d.*|Traceback \(most recent.*|at .*|File ".*|throw .*|node:.*|[~^ ]*|[{}\[\]()]*,?|requireStack: .*|code: '.*|(?:Try|Run) '.*)$`)

// FailureLine returns the line of a program's stderr that best explains its failure: a line that matches the first
// entry of explanations that any line matches, such as npm's error code or the first exception. Uninformative lines
// are not considered. If no line matches, it returns the last line that is not uninformative. If all lines are
// uninformative, it returns the last non-empty one, or "" if there is none.
func FailureLine(lines []string) string {
	var said []string
	for _, line := range lines {
		if line = beginOf(line); line != "" && !uninformative().MatchString(line) {
			said = append(said, line)
		}
	}
	for _, explanation := range explanations {
		found := ""
		for _, line := range said {
			if explanation.line().MatchString(line) {
				found = line
				if !explanation.last {
					break
				}
			}
		}
		if found != "" {
			return found
		}
	}
	for i := len(lines) - 1; i >= 0 && len(said) == 0; i-- {
		if line := beginOf(lines[i]); line != "" {
			return line
		}
	}
	if len(said) > 0 {
		return said[len(said)-1]
	}
	return ""
}

// beginOf returns the part of a line that is examined, without the spaces around it. It cuts between characters.
func beginOf(line string) string {
	n := len(line)
	if n > maxOutputLine {
		for n = maxOutputLine; n > maxOutputLine-utf8.UTFMax && !utf8.RuneStart(line[n]); n-- {
		}
	}
	return strings.TrimSpace(line[:n])
}
