package stream

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestSSEReader(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, test := range []struct {
		name, in string
		want     []string // "!" = an error, after which reading continues
		id       string
		retry    time.Duration
	}{
		{name: "one", in: "data: a\n\n", want: []string{"a"}},
		{name: "no blank", in: "data:a\n\n", want: []string{"a"}},
		{name: "two blanks", in: "data:  a\n\n", want: []string{" a"}},
		{name: "crlf", in: "data: a\r\n\r\ndata: b\r\n\r\n", want: []string{"a", "b"}},
		{name: "cr", in: "data: a\r\rdata: b\r\r", want: []string{"a", "b"}},
		{name: "mixed ends", in: "data: a\r\ndata: b\ndata: c\r\r", want: []string{"a\nb\nc"}},
		{name: "several lines", in: "data: a\ndata\ndata: b\n\n", want: []string{"a\n\nb"}},
		{name: "comments", in: ": hi\n\n:\n\ndata: a\n: there\n\n", want: []string{"a"}},
		{name: "names", in: "event: message\ndata: a\n\nevent: ping\ndata: b\n\ndata: c\n\n", want: []string{"a", "c"}},
		{name: "priming", in: "id: 7\ndata:\n\n", id: "7"},
		{name: "id", in: "id: 1\ndata: a\n\nid: 2\n\n", want: []string{"a"}, id: "2"},
		{name: "id forgotten", in: "id: 1\ndata: a\n\nid\n\n", want: []string{"a"}},
		{name: "id of half an event", in: "id: 1\ndata: a\n\nid: 2\n", want: []string{"a"}, id: "1"},
		{name: "id with nul", in: "id: 1\x00\ndata: a\n\n", want: []string{"a"}},
		{name: "id with tabulator and escape", in: "id: \x1b\ndata: a\n\n", want: []string{"a"}},
		{name: "retry", in: "retry: 1500\n\nretry: x\n\n", retry: 1500 * time.Millisecond},
		{name: "retry for ever", in: "retry: 999999999\n\n", retry: time.Minute},
		{name: "unknown fields", in: "foo: bar\nbaz\ndata: a\n\n", want: []string{"a"}},
		{name: "byte order mark", in: "\xef\xbb\xbfdata: a\n\n", want: []string{"a"}},
		{name: "no empty line at the end", in: "data: a\n\ndata: b\n", want: []string{"a"}},
		{name: "no end of line", in: "id: 1\ndata: a\n\nid: 2\ndata: b", want: []string{"a"}, id: "1"},
		{name: "half an id", in: "id: 1\ndata: a\n\ndata: b\nid: 2", want: []string{"a"}, id: "1"},
		{name: "half a long line", in: "data: a\n\ndata: " + long, want: []string{"a"}},
		{name: "long", in: "data: " + long + "\ndata: y\n\ndata: b\n\n", want: []string{long + "\ny", "b"}},
		{name: "long comment", in: "data: a\n: " + long + "\n\n", want: []string{"a"}},
		{name: "too long", in: "id: 3\ndata: " + long + long + "\n\ndata: b\n\n", want: []string{"!", "b"}, id: "3"},
		{name: "too many lines", in: strings.Repeat("data: "+long[:1000]+"\n", 400) + "\ndata: b\n\n", want: []string{"!", "b"}},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytewise": iotest.OneByteReader} {
			t.Run(test.name+"/"+way, func(t *testing.T) {
				budget := NewBudget(0)
				s := NewEventReader(300_000, budget)
				s.Reset(wrap(strings.NewReader(test.in)))
				var got []string
				for {
					data, err := s.Next()
					if err == io.EOF {
						break
					}
					if errors.Is(err, ErrFrameTooLarge) {
						data = []byte("!")
					} else if err != nil {
						t.Fatal(err)
					}
					got = append(got, string(data))
				}
				if !slices.Equal(got, test.want) || s.LastID != test.id || s.Retry != test.retry {
					t.Errorf("got %.100q id %q retry %v, want %.100q id %q retry %v", got, s.LastID, s.Retry, test.want, test.id, test.retry)
				}
				s.Rope.Reset()
				if budget.Used() != 0 {
					t.Errorf("%d bytes not given back", budget.Used())
				}
			})
		}
	}
}

// FuzzSSEReader: however the reads split the stream, the events are the same as those of a simple reader.
func FuzzSSEReader(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\nid: 1\ndata: b\ndata: c\n\n: x\n\n"))
	f.Add([]byte("event: message\rdata:\r\rretry: 5\n\ndata\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		read := func(r io.Reader) (events []string) {
			s := NewEventReader(1<<20, nil)
			s.Reset(r)
			for {
				data, err := s.Next()
				if err != nil {
					return events
				}
				events = append(events, string(data))
			}
		}
		whole, bytewise := read(bytes.NewReader(in)), read(iotest.OneByteReader(bytes.NewReader(in)))
		if want := sseSimple(in); !slices.Equal(whole, want) || !slices.Equal(bytewise, want) {
			t.Errorf("%q: %q whole, %q bytewise, want %q", in, whole, bytewise, want)
		}
	})
}

// sseSimple parses a complete stream.
func sseSimple(in []byte) (events []string) {
	text := strings.TrimPrefix(string(in), "\xef\xbb\xbf")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var data []string
	event := ""
	end := func() {
		if all := strings.Join(data, "\n"); all != "" && event == "" {
			events = append(events, all)
		}
		data, event = nil, ""
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line == "" && i < len(lines)-1 {
			end()
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			if event = value; value == "message" {
				event = ""
			}
		}
	}
	return events
}

// FuzzLinkLines: the joined pieces are the lines, whatever the sizes of the reads.
func FuzzLinkLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 1)
	f.Add(bytes.Repeat([]byte("x"), 10_000), 4096)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		lines := Lines{R: &sseSteps{in, size&8191 + 1}}
		var got []string
		var line []byte
		open := false
		for {
			piece, ended, err := lines.Next()
			if err != nil {
				break
			}
			line, open = append(line, piece...), !ended
			if ended {
				got, line = append(got, string(line)), line[:0]
			}
		}
		if open {
			got = append(got, string(line))
		}
		want := strings.Split(string(in), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q by %d: %q, want %q", in, size, got, want)
		}
	})
}

// sseSteps returns at most step bytes from each read.
type sseSteps struct {
	in   []byte
	step int
}

func (s *sseSteps) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.in[:min(s.step, len(s.in))])
	s.in = s.in[n:]
	return n, nil
}

// A rope returns the bytes that were added or read, and counts them in the budget until Reset. If they exceed the
// budget, the rope gives back the bytes that it took and reports ErrOverBudget.
func TestLinkRope(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 65_536, 65_537, 1 << 20, 5_000_000} {
		budget := NewBudget(0)
		r := Rope{Max: 5_000_000, Budget: budget}
		want := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		for range 2 { // the rope is reused
			for p := want; len(p) > 0; {
				m := min(len(p), 777)
				r.Add(p[:m])
				p = p[m:]
			}
			if r.Err != nil || !bytes.Equal(r.Bytes(), want) {
				t.Fatalf("%d bytes: %v", n, r.Err)
			}
			if n > ropeSmall && budget.Used() < int64(n-ropeSmall) {
				t.Errorf("%d bytes: only %d counted", n, budget.Used())
			}
			r.Reset()
			if err := r.ReadAll(bytes.NewReader(want)); err != nil || !bytes.Equal(r.Bytes(), want) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			r.Reset()
		}
		if budget.Used() != 0 {
			t.Errorf("%d bytes: %d not given back", n, budget.Used())
		}
	}
	r := Rope{Max: 1 << 20, Budget: NewBudget(100_000)}
	r.Add(make([]byte, 500_000))
	if !errors.Is(r.Err, ErrOverBudget) || r.Budget.Used() != 0 {
		t.Errorf("%v with %d bytes taken, want %v", r.Err, r.Budget.Used(), ErrOverBudget)
	}
}
