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

// A sealed value in the file: the number of this writing, then what AES-256-GCM makes of it with a random nonce in front. The names of
// its bucket and its key are authenticated with it, so that a record which somebody moves to another place does not open there.
const sealedV1 = 1

// errUnsealed is returned when a value was not sealed here, or is not what was sealed.
var errUnsealed = errors.New("a sealed value is damaged, or in the wrong place")

// vault seals what is secret in the file, each value for itself. Immutable.
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

// settle waits until the disk has the master key: nothing is kept that could not be opened after a power cut.
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

// place is where a value belongs, in a writing that no other place has.
func place(bucket, key []byte) []byte {
	return append(append(binary.AppendUvarint(nil, uint64(len(bucket))), bucket...), key...)
}

// putKey writes the sealing key and says whose master key seals.
func (v *vault) putKey(meta *bbolt.Bucket, key message.SealingKey) error {
	if err := meta.Put(keyMaster, []byte(v.id)); err != nil {
		return err
	}
	return meta.Put(keySeal, v.seal(bucketMeta, keySeal, key[:]))
}

func (v *vault) key(meta *bbolt.Bucket) (key message.SealingKey, err error) {
	value, err := v.open(bucketMeta, keySeal, meta.Get(keySeal))
	if err != nil || len(value) != len(key) {
		return key, fmt.Errorf("%w: the sealing key does not open", errDamaged)
	}
	return message.SealingKey(value), nil
}
