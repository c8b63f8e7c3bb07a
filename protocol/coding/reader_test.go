package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const limit = 1 << 20

type compressor interface {
	io.WriteCloser
	Flush() error
}

// compressors maps each form of a coding to its compressor.
var compressors = map[string]struct {
	coding Coding
	to     func(io.Writer) compressor
}{
	"gzip": {Gzip, func(w io.Writer) compressor { return gzip.NewWriter(w) }},
	"zlib": {Deflate, func(w io.Writer) compressor { return zlib.NewWriter(w) }},
	"raw deflate": {Deflate, func(w io.Writer) compressor {
		c, _ := flate.NewWriter(w, flate.DefaultCompression)
		return c
	}},
}

func encode(t testing.TB, form, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	c := compressors[form].to(&b)
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(c Coding, src io.Reader) (string, error) {
	r := NewReader(c, src, limit)
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

func TestReader(t *testing.T) {
	texts := []string{"", "x", strings.Repeat(`{"jsonrpc":"2.0","id":1,"result":{}}`, 1000)}
	sources := map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "error with the last bytes": iotest.DataErrReader,
	}
	for form, c := range compressors {
		for name, source := range sources {
			for _, text := range texts {
				encoded := encode(t, form, text)
				if got, err := decode(c.coding, source(bytes.NewReader(encoded))); got != text || err != nil {
					t.Errorf("%s, %s: %d bytes, want %d, %v", form, name, len(got), len(text), err)
				}
				for _, n := range []int{1, 2, 5, len(encoded) - 1} {
					if n >= len(encoded) {
						continue
					}
					got, err := decode(c.coding, source(bytes.NewReader(encoded[:n])))
					if err != io.ErrUnexpectedEOF || !strings.HasPrefix(text, got) {
						t.Errorf("%s, %s, cut after %d of %d bytes: %v", form, name, n, len(encoded), err)
					}
				}
			}
		}
	}
}

func TestReaderOddBodies(t *testing.T) {
	const anything = "*"
	abc, flipped := encode(t, "gzip", "abc"), encode(t, "gzip", "abc")
	flipped[len(flipped)-6] ^= 1
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, test := range []struct {
		name   string
		coding Coding
		body   []byte
		want   string
		err    string // a part of it; "" = none
	}{
		{"empty gzip body", Gzip, nil, "", ""},
		{"empty deflate body", Deflate, nil, "", ""},
		{"several members", Gzip, join(abc, abc, encode(t, "gzip", ""), abc), "abcabcabc", ""},
		{"gzip and a newline", Gzip, join(abc, []byte("\n")), "abc", "more bytes after its gzip data"},
		{"gzip and zeros", Gzip, join(abc, make([]byte, 100)), "abc", "more bytes after its gzip data"},
		{"zlib and text", Deflate, join(encode(t, "zlib", "abc"), []byte("x")), "abc", "more bytes after its deflate data"},
		{"raw deflate and text", Deflate, join(encode(t, "raw deflate", "abc"), []byte("x")), "abc", "more bytes after its deflate data"},
		{"wrong checksum", Gzip, flipped, "abc", "the checksum of its gzip data is wrong"},
		{"plain JSON", Gzip, []byte(`{"jsonrpc":"2.0"}`), "", "not valid gzip data"},
		{"plain JSON as deflate", Deflate, []byte(`{"jsonrpc":"2.0"}`), anything, "not valid deflate data"},
		{"deflate as gzip", Gzip, encode(t, "zlib", "abc"), "", "not valid gzip data"},
		{"gzip twice", Gzip, encode(t, "gzip", string(abc)), string(abc), ""},
	} {
		got, err := decode(test.coding, bytes.NewReader(test.body))
		if got != test.want && test.want != anything || (err == nil) != (test.err == "") || err != nil && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}

// Flushed bytes can be read while the sender continues, even if each part is a gzip member of its own.
func TestReaderStreams(t *testing.T) {
	forms := map[string]func(c compressor, w io.Writer) compressor{
		"flushed": func(c compressor, _ io.Writer) compressor { _ = c.Flush(); return c },
		"members": func(c compressor, w io.Writer) compressor { _ = c.Close(); return gzip.NewWriter(w) },
	}
	for form, c := range compressors {
		for name, next := range forms {
			if name == "members" && form != "gzip" {
				continue
			}
			out, in := io.Pipe()
			said := make(chan string)
			go func() {
				w := c.to(in)
				for text := range said {
					_, _ = w.Write([]byte(text))
					w = next(w, in)
				}
				_ = w.Close()
				in.Close()
			}()
			r := NewReader(c.coding, out, limit)
			for _, event := range []string{"data: 1\n\n", "data: 2\n\n", "data: " + strings.Repeat("3", 100_000) + "\n\n"} {
				said <- event
				got := make([]byte, len(event))
				if _, err := io.ReadFull(r, got); err != nil || string(got) != event {
					t.Fatalf("%s, %s: %.20q, %v", form, name, got, err)
				}
			}
			close(said)
			if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("%s, %s: the end: %d, %v", form, name, n, err)
			}
			r.Close()
		}
	}
}

// Reading a body that expands without end stops soon after the limit, with an error that names the limit. Text that
// compresses well, but below maxExpansion, is decoded completely.
func TestReaderExpansion(t *testing.T) {
	for form, c := range compressors {
		r := NewReader(c.coding, bytes.NewReader(encode(t, form, strings.Repeat("\x00", 16<<20))), limit)
		n, err := io.Copy(io.Discard, r)
		r.Close()
		if n > 2*limit || !errors.Is(err, ErrExpands) || !strings.Contains(err.Error(), "the limit for a message is 1048576") {
			t.Errorf("%s: %d bytes, %v", form, n, err)
		}
		text := strings.Repeat(strings.Repeat("x", 200)+"data: "+form+"\n\n", 10_000)
		if got, err := decode(c.coding, bytes.NewReader(encode(t, form, text))); len(got) != len(text) || err != nil {
			t.Errorf("%s: %d of %d bytes, %v", form, len(got), len(text), err)
		}
	}
}

// An error of the body is returned unchanged, after the bytes that could be decoded.
func TestReaderSourceError(t *testing.T) {
	broken := errors.New("connection reset")
	for form, c := range compressors {
		var b bytes.Buffer
		w := c.to(&b)
		_, _ = w.Write([]byte("abc"))
		_ = w.Flush()
		if got, err := decode(c.coding, io.MultiReader(&b, iotest.ErrReader(broken))); got != "abc" || err != broken {
			t.Errorf("%s: %q, %v", form, got, err)
		}
	}
}

// Readers reuse their decoders: a response costs at most two allocations.
func TestReaderIsReused(t *testing.T) {
	encoded, src, p := encode(t, "gzip", strings.Repeat("abc", 1000)), bytes.NewReader(nil), make([]byte, 4096)
	got := testing.AllocsPerRun(100, func() {
		src.Reset(encoded)
		r := NewReader(Gzip, src, limit)
		for {
			if _, err := r.Read(p); err != nil {
				break
			}
		}
		r.Close()
	})
	if got > 2 {
		t.Errorf("%.1f allocations a response", got)
	}
}

// FuzzReader compares with the library's own reader, which reads the whole body: the text is equal, and Read fails if
// and only if the library fails or the text expands too much.
func FuzzReader(f *testing.F) {
	for form, c := range compressors {
		encoded := encode(f, form, "data: {}\n\n")
		f.Add(encoded, uint8(c.coding), uint8(3))
		f.Add(append(encoded, encoded...), uint8(c.coding), uint8(1))
		f.Add(encoded[:len(encoded)/2], uint8(c.coding), uint8(0))
	}
	f.Fuzz(func(t *testing.T, body []byte, which, size uint8) {
		c := Gzip + Coding(which)%2
		r := NewReader(c, iotest.HalfReader(bytes.NewReader(body)), 1<<16)
		defer r.Close()
		var got []byte
		p := make([]byte, int(size)+1)
		var err error
		for err == nil {
			var n int
			n, err = r.Read(p)
			got = append(got, p[:n]...)
		}
		if _, again := r.Read(p); again != err {
			t.Fatalf("%v, then %v", err, again)
		}
		if len(got) > 1<<16+maxExpansion*len(body)+len(p) {
			t.Fatalf("%d bytes of %d", len(got), len(body))
		}
		want, wantErr := reference(c, body)
		if errors.Is(err, ErrExpands) {
			want, wantErr = want[:min(len(want), len(got))], err
		}
		if !bytes.Equal(got, want) || (err == io.EOF) != (wantErr == nil) {
			t.Fatalf("%d bytes, %v; the library reads %d, %v", len(got), err, len(want), wantErr)
		}
	})
}

func reference(c Coding, body []byte) (text []byte, err error) {
	if len(body) == 0 {
		return nil, nil
	}
	src := bytes.NewReader(body)
	var r io.Reader
	if c == Gzip {
		r, err = gzip.NewReader(src)
	} else if r, err = zlib.NewReader(src); err == zlib.ErrHeader || len(body) < 2 {
		src.Reset(body)
		r, err = flate.NewReader(src), nil
	}
	if err != nil {
		return nil, err
	}
	if text, err = io.ReadAll(r); err == nil && src.Len() > 0 {
		err = ErrInvalid
	}
	return text, err
}
