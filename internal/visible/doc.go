// Package visible makes text from outside safe to display. Characters that a terminal interprets (control characters), that
// reorder text (bidirectional controls) or that have no appearance of their own (format characters, Unicode tags, fillers,
// variation selectors) become escapes such as \x1b, \u202e or \U000e0041. A person then sees every character that a model
// or a program would read.
//
//	visible.Text("ig\u200bnore")          // ig\u200bnore, with a visible escape
//	visible.JSON([]byte(`"a\u202eb"`))    // the same value; the character is written as an escape
//
// Invisible characters stay where writing needs them: a joiner within an emoji or between letters of a script that uses
// joiners, and one variation selector after a symbol or ideograph. All functions except Writer are pure.
package visible
