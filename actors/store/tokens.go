package store

import (
	"fmt"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/message"
)

// readTokens reads all logins and counts those that cannot be unsealed, which it skips.
func readTokens(tx *bbolt.Tx, v *vault) (tokens map[string]message.Token, unopened int) {
	tokens = map[string]message.Token{}
	bucket := tx.Bucket(bucketTokens)
	if bucket == nil {
		return tokens, 0
	}
	cursor := bucket.Cursor()
	for k, sealed := cursor.First(); k != nil && len(tokens) < message.MaxTokens; k, sealed = cursor.Next() {
		value, err := openToken(v, k, sealed)
		if err != nil {
			unopened++
			continue
		}
		tokens[string(k)] = value
	}
	return tokens, unopened
}

func openToken(v *vault, key, sealed []byte) (message.Token, error) {
	if len(sealed) > 2*message.MaxTokenBytes {
		return nil, errUnsealed
	}
	return v.open(bucketTokens, key, sealed)
}

// readToken reads one login again. It returns nil if there is none.
func readToken(tx *bbolt.Tx, v *vault, key string) (message.Token, error) {
	bucket := tx.Bucket(bucketTokens)
	if bucket == nil {
		return nil, nil
	}
	sealed := bucket.Get([]byte(key))
	if sealed == nil {
		return nil, nil
	}
	return openToken(v, []byte(key), sealed)
}

// putTokens writes logins. The result refused contains the keys beyond the limit; stored logins are never removed for new
// ones.
func putTokens(tx *bbolt.Tx, v *vault, tokens map[string]pendingToken) (refused map[string]bool, err error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	bucket, err := tx.CreateBucketIfNotExists(bucketTokens)
	if err != nil {
		return nil, fmt.Errorf("write login: %w", err)
	}
	room := message.MaxTokens - bucket.Stats().KeyN
	for key, token := range tokens {
		k := []byte(key)
		isNew := bucket.Get(k) == nil
		switch {
		case token.value == nil:
			err = bucket.Delete(k)
		case isNew && room <= 0:
			if refused == nil {
				refused = map[string]bool{}
			}
			refused[key] = true
		default:
			if isNew {
				room--
			}
			err = bucket.Put(k, v.seal(bucketTokens, k, token.value))
		}
		if err != nil {
			return nil, fmt.Errorf("write login: %w", err)
		}
	}
	return refused, nil
}
