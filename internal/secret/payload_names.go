package secret

import (
	"slices"
	"strings"

	"goblin-actor/internal/pattern"
)

// payloadWords are words that suggest a secret in the name of a member of a payload, in addition to words. Configurations have members
// with these names that are not secret.
var payloadWords = []string{"pass", "pw", "passcode", "sig", "otp", "totp", "pin", "auth", "pem", "mnemonic"}

// wholeMembers are members of requests that are hidden with everything in them: what a user has answered, sealed state,
// headers and variables. MCP 2026-07-28
var wholeMembers = []string{"inputResponses", "requestState", "headers", "env"}

// codeNames are members whose numbers are results, not one-time codes.
var codeNames = []string{"exit_code", "status_code", "error_code", "return_code", "http_code"}

var (
	// numericCode matches JSON-RPC, HTTP and exit codes. One-time codes are longer.
	numericCode = pattern.Lazy(`^(?:-\d{1,9}|\d{1,3})$`)
	// namedCode matches names of errors, such as ENOENT. Codes of OAuth look different.
	namedCode = pattern.Lazy(`^[A-Z][A-Z_]{2,40}$`)
	// assignment matches a variable and its value.
	assignment = pattern.Lazy(`^[A-Za-z_]\w*=`)
)

// suggestsSecret reports whether the name of a member suggests a secret value.
func suggestsSecret(name string) bool {
	return HasWord(name) || secretName().MatchString(name) || hasWord(name, payloadWords)
}

// hidesMember reports whether everything in a member is hidden.
func hidesMember(key string, value *payloadNode) bool {
	if key == "progressToken" || isErrorCode(key, value) { // MCP, basic/utilities/progress: a number or name that the client chose
		return false
	}
	return suggestsSecret(key) || slices.ContainsFunc(wholeMembers, func(m string) bool { return strings.EqualFold(m, key) })
}

// isErrorCode reports whether a member is the code of an error or of an exit.
func isErrorCode(key string, value *payloadNode) bool {
	if value.cut {
		return false
	}
	switch isNumber := value.kind == 'n' && numericCode().MatchString(value.text); {
	case key == "code":
		return isNumber || value.kind == '"' && namedCode().MatchString(value.text)
	default:
		return isNumber && slices.Contains(codeNames, strings.ToLower(key))
	}
}

// hidesNext reports whether next, which follows before in a command line, is hidden.
func hidesNext(before, next *payloadNode) bool {
	if before.kind != '"' || next.kind != '"' || !strings.HasPrefix(before.text, "-") || strings.ContainsAny(before.text, "= \t\r\n") {
		return false
	}
	switch flag := before.text; {
	case header().MatchString(flag):
		return true
	case env().MatchString(flag):
		return assignment().MatchString(next.text)
	case flag == "-u" || flag == "--user":
		return strings.Contains(next.text, ":")
	default:
		return suggestsSecret(flag) && (len(next.text) == 0 || next.text[0] != '-')
	}
}
