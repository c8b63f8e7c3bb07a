package policy

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
)

// maxBuckets is how many principals are counted at once. Those that have sent nothing for so long that their bucket is full again are not
// among them.
const maxBuckets = 16384

// maxLimits is of how many different rights it is remembered what the policy says.
const maxLimits = 1024

// busy is after what time whoever finds no room among them comes back.
const busy = time.Second

// Rates count the requests of each principal: a bucket that holds as many as its rate says and fills up evenly. They are counted for the
// principal and for nothing else: whoever has a hundred connections has one bucket. Safe from any goroutine. The zero value counts nothing until
// there is a policy.
type Rates struct {
	// Reported is told of who sends too much, once a second, where the policy only reports. nil = nobody is. Set before Rates are used.
	Reported func(principal string)

	mu      sync.Mutex
	told    time.Time
	policy  *Policy
	limits  map[string]config.Rate // by rights: what the policy says of them
	buckets Buckets[string]
}

// Use takes the policy that is in force from now on. What has been counted stays counted.
func (r *Rates) Use(p *Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.policy, r.limits = p, map[string]config.Rate{}
}

// Allow counts a request of a principal. When it is one too many it says after what time there is room again.
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
		if now.Sub(r.told) >= time.Second && r.Reported != nil {
			r.told = now
			r.Reported(who.ID)
		}
		return 0, true
	}
	return retryAfter, ok
}

// limitOf is what a policy says of rights. Of another one than that in force, which some have yet, or already, nothing is remembered.
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

// Buckets are a bounded number of buckets. Not safe from several goroutines: its owner is an actor, or holds a lock. The zero value is ready.
type Buckets[K comparable] struct {
	buckets map[K]*bucket
	sweep   time.Time // not before then full ones are looked for again
}

type bucket struct {
	limiter *rate.Limiter
	limit   config.Rate
}

// Take takes one out of the key's bucket; when it is empty, it says after what time it is not.
func (b *Buckets[K]) Take(now time.Time, key K, limit config.Rate) (retryAfter time.Duration, ok bool) {
	of := b.buckets[key]
	if of == nil {
		if of = b.add(now, key, limit); of == nil {
			return busy, false
		}
	}
	if of.limit != limit { // a reload, or another role
		of.limiter.SetLimitAt(now, perSecond(limit))
		of.limiter.SetBurstAt(now, limit.Requests)
		of.limit = limit
	}
	if of.limiter.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - of.limiter.TokensAt(now)
	return max(time.Millisecond, time.Duration(missing/float64(perSecond(limit))*float64(time.Second))), false
}

// add makes a bucket; nil when there are too many that are not full.
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

// drop throws away the full ones, as those that are made anew are full, too. It looks at most once a second: a flood of new keys is
// not to cost a look at all each.
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
