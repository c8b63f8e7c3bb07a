package store

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/message"
	"goblin-actor/internal/masterkey"
)

// A sealed value consists of this version number, a random nonce and the output of AES-256-GCM. The names of its bucket
// and key are authenticated with it, so a record moved elsewhere cannot be opened.
const sealedV1 = 1

// errUnsealed is returned for a value that is damaged or was sealed for another place or with another key.
var errUnsealed = errors.New("a sealed value is damaged or was moved")

// vault seals secrets in the file, each value separately. It is immutable.
type vault struct {
	master *masterkey.Master
	id     string // of the master key
	aead   cipher.AEAD
}

func newVault(m *masterkey.Master) (*vault, error) {
	key := m.Key(masterkey.State)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &vault{m, m.ID(), aead}, nil
}

// settle waits until the master key is on disk. Otherwise a power failure could leave stored values that cannot be
// unsealed.
func (v *vault) settle() error { return v.master.Settle() }

func (v *vault) seal(bucket, key, value []byte) []byte {
	return v.aead.Seal([]byte{sealedV1}, nil, value, place(bucket, key))
}

func (v *vault) open(bucket, key, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || sealed[0] != sealedV1 {
		return nil, errUnsealed
	}
	value, err := v.aead.Open(nil, nil, sealed[1:], place(bucket, key))
	if err != nil {
		return nil, errUnsealed
	}
	return value, nil
}

// place returns an unambiguous encoding of a value's bucket and key.
func place(bucket, key []byte) []byte {
	return append(append(binary.AppendUvarint(nil, uint64(len(bucket))), bucket...), key...)
}

// putKey writes the sealing key and the ID of the master key.
func (v *vault) putKey(meta *bbolt.Bucket, key message.SealingKey) error {
	if err := meta.Put(keyMaster, []byte(v.id)); err != nil {
		return err
	}
	return meta.Put(keySeal, v.seal(bucketMeta, keySeal, key[:]))
}

func (v *vault) key(meta *bbolt.Bucket) (key message.SealingKey, err error) {
	value, err := v.open(bucketMeta, keySeal, meta.Get(keySeal))
	if err != nil || len(value) != len(key) {
		return key, fmt.Errorf("%w: the sealing key cannot be unsealed", errDamaged)
	}
	return message.SealingKey(value), nil
}
