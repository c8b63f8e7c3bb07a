package protocol

// ErrorNumber returns the code of an error answer; false when it is no integer.
func ErrorNumber(f *Frame) (int, bool) { return 0, false }

// TranslateError appends the edits that give a server's error, of the other era, the number that means the same to the client:
// toModern from a legacy server to a modern client, else the other way round. m is the request's method, uri the raw JSON string of the URI
// the client asked for (resources/read; nil = leave it). What needs no translation stays byte for byte.
//
// -32042, where it can be asked, is the caller's: URLElicitations before this.
func TranslateError(edits []Edit, m Method, f *Frame, uri []byte, toModern bool) []Edit { return edits }
