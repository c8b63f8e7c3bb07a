package ssrf

import "io"

const maxBodyBytes = 1 << 20 // bytes of a response body

// limitedBody is a response body that fails with ErrTooLarge after maxBodyBytes. net/http requests and decodes gzip
// itself, so the limit counts decoded bytes.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
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
