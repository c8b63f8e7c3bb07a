package transport

// OpenHTTP prepares the URL and returns at once.
func OpenHTTP(o HTTPOptions, sink Sink) Link { l, _ := NewPipe(sink); return l }
