package ssrf

import "io"

const bodyAtMost = 1 << 20 // of an answer

// bounded is a body that ends with ErrTooLarge when it is longer than it may be. net/http asks for gzip and decodes it, so the bytes
// counted are decoded ones.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
