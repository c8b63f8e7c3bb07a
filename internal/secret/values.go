package secret

// Values are secrets for a Redactor. They are hidden if printed.
type Values []string

// String returns Hidden, to keep the values out of logs.
func (Values) String() string { return Hidden }

// GoString returns Hidden.
func (Values) GoString() string { return Hidden }

// MarshalText returns Hidden.
func (Values) MarshalText() ([]byte, error) { return []byte(Hidden), nil }
