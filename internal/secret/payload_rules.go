package secret

import (
	"regexp"
	"slices"
	"strings"

	"goblin-actor/internal/pattern"
)

// The rules for texts in payloads hide more than those for configurations, because a payload may contain anything.
var (
	// privateKey matches the lines of a private key; its end may be missing.
	privateKey = pattern.Lazy(`(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)((?s:.*?)(?:-----END|$))`)
	// headerLine matches a header and the rest of its line.
	headerLine = pattern.Lazy(`(?im)(\b(?:(?:proxy-)?authorization|(?:set-)?cookie)\s*:\s*)([^\r\n]+)`)
	// passwordLine matches a password in prose or YAML, and the rest of its line. A password may contain spaces.
	passwordLine = pattern.Lazy(`(?i)([\w.-]*(?:passw|passphrase|pwd)[\w.-]*(?:\s*:|\s+=)\s*)(` + quotedText + `|[^\s"'][^\r\n]*)`)
	// longPair is like pair, but a semicolon does not end the value, and the text may be code such as token := "x".
	longPair = pattern.Lazy(`(?i)(` + namedWord + `\\*["']?\s*(?:[:=]=|=>|[:=])\s*)(` + quotedText + `|(?:(?:bearer|basic|token|digest)\s+)?[^\s&"']+)`)
	// shortPair matches a pair whose name ends in a short word. It does not match PASS:, which test results contain.
	shortPair = pattern.Lazy(`((?:(?:^|[^A-Za-z])(?i:pw|pat|sig|otp|totp|pin|passcode)\\*["']?\s*[:=]|[a-z](?:Pass|Pw|Pat|Sig|Otp|Pin)\\*["']?\s*[:=]|` +
		`(?:^|[^A-Za-z])pass\\*["']?\s*:|[_-](?i:pass)\\*["']?\s*:|(?i:pass)\s*=)\s*)(` + quotedText + `|[^\s&"']+)`)
	// secretFlag matches a flag and its value in a command line.
	secretFlag = pattern.Lazy(`((?:^|[\s"'(])(?i:--?[\w-]*` + names + `[\w-]*|--?pass|--?pw|--?otp|--?pin|--headers?)\s+|(?:^|\s)-H\s+)(` + quotedText + `|[^\s-]\S*)`)
	// passwordWord matches a password after the flag -p of sshpass and MySQL's commands, or in a netrc file.
	passwordWord = pattern.Lazy(`(?i)(\bsshpass\s+-p\s*|\b(?:mysql|mariadb)\w*\s(?:[^\r\n]*?\s)?-p|\blogin\s+\S+\s+password\s+)(` + quotedText + `|[^\s"']+)`)
	// userFlag matches a user and a password in a command line.
	userFlag = pattern.Lazy(`((?:^|\s)-(?:u|-user)[\s=]\s*)(` + quotedText + `|[^\s:"']+:\S+)`)
	// namedValue matches a pair such as {"name": "API_KEY", "value": "…"} in text that is not JSON.
	namedValue = pattern.Lazy(`(?i)("(?:name|key|id|header|variable|field|label|title)\\*"\s*:\s*\\*"[^"]*(?:` + names + `|pass)[^"]*"[^{}]*?"val\w*\\*"\s*:\s*)(` + quotedText + `|[^\s,}]+)`)
	// valueNamed is namedValue in the other order.
	valueNamed = pattern.Lazy(`(?i)("val\w*\\*"\s*:\s*)(` + quotedText + `)[^{}]*?"(?:name|key|id|header|variable|field|label|title)\\*"\s*:\s*\\*"[^"]*(?:` + names + `|pass)`)
)

// nameParts are the beginnings of the words in names. A text without them matches none of the rules for names.
var nameParts = []string{"key", "token", "secret", "pass", "pwd", "credential", "auth", "signature", "bearer", "cookie", "jwt", "-h", "--header"}

// textRules are the rules for texts, in the order in which they are applied. Most texts have none of the parts of most rules.
var textRules = []struct {
	parts []string // in lower case; a text that matches has one of them
	match func() *regexp.Regexp
	with  func(string) string
}{
	{[]string{"private key"}, privateKey, hide},
	{[]string{"authorization", "cookie"}, headerLine, hide},
	{[]string{`"val`}, namedValue, hide},
	{[]string{`"val`}, valueNamed, hide},
	{[]string{"-u"}, userFlag, hide},
	{[]string{"sshpass", "mysql", "mariadb", "password"}, passwordWord, hide},
	{[]string{"passw", "passphrase", "pwd"}, passwordLine, hide},
	{nameParts, longPair, hideValue},
	{[]string{"pass", "pw", "pat", "sig", "otp", "pin"}, shortPair, hideValue},
	{append([]string{"-pw", "-otp", "-pin"}, nameParts...), secretFlag, hideValue},
	{[]string{"bearer", "basic"}, bearing, hideValue},
}

func hide(string) string { return Hidden }

// byName hides what names in a text suggest to be secret: values of pairs such as password=x, headers, flags, passwords in URLs and private
// keys. It also hides tokens of known issuers.
func byName(s string) string {
	if strings.Contains(s, "://") {
		s = address().ReplaceAllStringFunc(s, hideUser)
	}
	lower := strings.ToLower(s)
	for _, rule := range textRules {
		if slices.ContainsFunc(rule.parts, func(part string) bool { return strings.Contains(lower, part) }) {
			s = replaceSecond(rule.match(), s, rule.with)
		}
	}
	return issued().ReplaceAllString(s, Hidden)
}

// hideUser hides the user and the password in a URL. A password may contain any character.
func hideUser(u string) string {
	before, rest, _ := strings.Cut(u, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if far := strings.LastIndexByte(rest, '@'); far > at && far > 0 && rest[far-1] != '/' && strings.Contains(authority, ":") && !strings.HasPrefix(authority, "[") {
		at = far
	}
	if at < 0 {
		return u
	}
	return before + "://" + Hidden + rest[at:]
}

// embedded hides secrets in JSON objects and arrays inside a text, such as lines of JSON.
func (w *payloadWriter) embedded(s string, cut bool) string {
	var b strings.Builder
	budget, last := 8*len(s), 0 // bytes to parse at most; without a limit, hostile text would take quadratic time
	for i := 0; i < len(s) && budget > 0 && w.depth < maxNested; i++ {
		if s[i] != '{' && s[i] != '[' {
			continue
		}
		p := payloadParser{in: s, at: i}
		n := p.value(0)
		budget -= p.at - i
		if n == nil || p.ended && !cut {
			continue
		}
		inner := payloadWriter{known: w.known, depth: w.depth + 1}
		inner.node(n, false)
		if shown := inner.b.String(); strings.Count(shown, Hidden) > strings.Count(s[i:p.at], Hidden) {
			b.WriteString(s[last:i] + shown)
			last = p.at
		}
		i = p.at - 1
	}
	return b.String() + s[last:]
}
