// Package secret shows texts that may hold a secret: command lines, URLs, what people wrote into a configuration.
// It is the one place that decides what may be seen, by what a value is called and by what it looks like, so that
// every command hides the same. Where it cannot tell, it hides.
//
//	secret.Arguments([]string{"--api-key", "abc", "-H", "Authorization: Bearer ${TOKEN}"})
//	// --api-key  [redacted]  -H  Authorization: Bearer ${TOKEN}
//	secret.URL("https://ada:abc@example.org/mcp?team=7") // https://redacted@example.org/mcp?team=redacted
//
// A variable, `${NAME}`, stays: it says where the secret is, not what. Its default does not.
package secret
