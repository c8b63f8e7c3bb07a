package policy

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
)

// maxBuckets limits the number of buckets. Full buckets are dropped when space is needed, because a new bucket would be
// full, too.
const maxBuckets = 16384

// maxLimits limits the number of rights whose rate is cached.
const maxLimits = 1024

// busy is the retry delay for a principal that gets no bucket.
const busy = time.Second

// Rates limits the requests of each principal with a token bucket, which all connections of the principal share. It is
// safe for concurrent use. The zero value limits nothing until Use sets a policy.
type Rates struct {
	// Reported is called at most once a second if a policy that only reports would refuse a request. nil = not called.
	// Set it before use.
	Reported func(principal string)

	mu         sync.Mutex
	reportedAt time.Time // time of the last call of Reported
	policy     *Policy
	limits     map[string]config.Rate // cache of the rates that policy sets, by the principal's rights
	buckets    Buckets[string]
	spent      spentList
}

// Use sets the policy. Counts are kept.
func (r *Rates) Use(p *Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.policy, r.limits = p, map[string]config.Rate{}
}

// Allow counts a request of a principal. If the request exceeds its rate, ok is false and the request may be repeated
// after retryAfter.
func (r *Rates) Allow(now time.Time, who *identity.Principal) (retryAfter time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Of(who, r.policy)
	if p == nil {
		return 0, true
	}
	limit := r.limitOf(p, who.Rights)
	if limit.Requests == 0 {
		return 0, true
	}
	retryAfter, ok = r.buckets.Take(now, who.ID, limit)
	if !ok && p.report {
		if now.Sub(r.reportedAt) >= time.Second && r.Reported != nil {
			r.reportedAt = now
			r.Reported(who.ID)
		}
		return 0, true
	}
	if ok {
		r.spent.add(who.ID, limit)
	}
	return retryAfter, ok
}

// Of returns the rate of a principal; zero = unlimited.
func (r *Rates) Of(who *identity.Principal) config.Rate {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Of(who, r.policy)
	if p == nil {
		return config.Rate{}
	}
	return r.limitOf(p, who.Rights)
}

// Left returns how many requests of a principal the rate permits at once, now and after a pause. Both are -1 for a
// principal without a rate.
func (r *Rates) Left(now time.Time, who *identity.Principal) (left, most int) {
	limit := r.Of(who)
	if limit.Requests == 0 {
		return -1, -1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.buckets.buckets[who.ID]
	if of == nil || of.limit != limit {
		return limit.Requests, limit.Requests
	}
	return max(0, int(of.limiter.TokensAt(now))), limit.Requests
}

// limitOf returns the rate of rights under p. It caches only rates of the current policy. During a reload, some
// principals still have the rights of the previous policy, or already those of the next one.
func (r *Rates) limitOf(p *Policy, rights string) config.Rate {
	if p != r.policy {
		return p.Rate(rights)
	}
	limit, known := r.limits[rights]
	if !known {
		if len(r.limits) >= maxLimits {
			clear(r.limits)
		}
		limit = p.Rate(rights)
		r.limits[rights] = limit
	}
	return limit
}

// Buckets is a limited set of token buckets. It is not safe for concurrent use. The zero value is ready.
type Buckets[K comparable] struct {
	buckets map[K]*bucket
	sweep   time.Time // earliest time to look for full buckets again
}

type bucket struct {
	limiter *rate.Limiter
	limit   config.Rate
}

// Take takes a token from the key's bucket. If there is none, ok is false, and the caller may try again after
// retryAfter.
func (b *Buckets[K]) Take(now time.Time, key K, limit config.Rate) (retryAfter time.Duration, ok bool) {
	of := b.of(now, key, limit)
	if of == nil {
		return busy, false
	}
	if of.limiter.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - of.limiter.TokensAt(now)
	return max(time.Millisecond, time.Duration(missing/float64(perSecond(limit))*float64(time.Second))), false
}

// of returns the key's bucket, or nil if there are too many.
func (b *Buckets[K]) of(now time.Time, key K, limit config.Rate) *bucket {
	of := b.buckets[key]
	if of == nil {
		return b.add(now, key, limit)
	}
	if of.limit != limit { // after a reload, or with another role
		of.limiter.SetLimitAt(now, perSecond(limit))
		of.limiter.SetBurstAt(now, limit.Requests)
		of.limit = limit
	}
	return of
}

// add adds a bucket. It returns nil if there are already maxBuckets buckets in use.
func (b *Buckets[K]) add(now time.Time, key K, limit config.Rate) *bucket {
	if b.buckets == nil {
		b.buckets = map[K]*bucket{}
	}
	if len(b.buckets) >= maxBuckets {
		b.drop(now)
	}
	if len(b.buckets) >= maxBuckets {
		return nil
	}
	of := &bucket{rate.NewLimiter(perSecond(limit), limit.Requests), limit}
	b.buckets[key] = of
	return of
}

// drop removes full buckets. It runs at most once a second, because a flood of new keys must not cause a scan for each.
func (b *Buckets[K]) drop(now time.Time) {
	if now.Before(b.sweep) && now.After(b.sweep.Add(-2*busy)) {
		return
	}
	b.sweep = now.Add(busy)
	for key, of := range b.buckets {
		if of.limiter.TokensAt(now) >= float64(of.limit.Requests) {
			delete(b.buckets, key)
		}
	}
}

func perSecond(r config.Rate) rate.Limit { return rate.Limit(float64(r.Requests) / r.Per.Seconds()) }
