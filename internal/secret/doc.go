// Package secret hides secrets in text that is displayed: command lines, URLs and configuration values. It is the only
// place that decides what to hide, by the name and the form of a value, so that all commands hide the same things. In case of
// doubt, it hides.
//
//	secret.Arguments([]string{"--api-key", "abc", "-H", "Authorization: Bearer ${TOKEN}"})
//	// --api-key  [redacted]  -H  Authorization: Bearer ${TOKEN}
//	secret.URL("https://ada:abc@example.org/mcp?team=7") // https://redacted@example.org/mcp?team=redacted
//
// A reference such as `${NAME}` is kept, because it does not reveal the secret. Its default is hidden.
package secret
