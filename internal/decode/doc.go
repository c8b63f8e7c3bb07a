// Package decode decodes JSON with errors that users understand. The errors of encoding/json name Go types; an error of this
// package names the input, the member that is wrong, and what was expected there:
//
//	err := decode.JSON(raw, "the result", &result)
//	// the result is a string; an object with content was expected
//	// content[0].text in the result is a number; a string was expected
//
// Decoding itself is that of encoding/json, with one exception: null is an error where an object or array is expected at the
// top level. Everything in this package is a pure function, except for Reader, which reads its input to the end.
package decode
