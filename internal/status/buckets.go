package status

import (
	"encoding/json"
	"fmt"
	"math"
)

// fineBounds are the upper bounds of the buckets of a histogram of calls in seconds: ten a decade, from less than the
// duration of a call inside the process to the longest timeout. They contain the bounds of the histograms in /metrics.
// Neighbors differ by less than a factor of 1.27, so a quantile that is computed from the buckets and lies between two
// bounds is within 12 % of the true one.
var fineBounds = [...]float64{
	.00001, .0000126, .0000158, .00002, .000025, .0000315, .0000397, .00005, .000063, .0000794,
	.0001, .000126, .000158, .0002, .00025, .000315, .000397, .0005, .00063, .000794,
	.001, .00126, .00158, .002, .0025, .00315, .00397, .005, .0063, .00794,
	.01, .0126, .0158, .02, .025, .0315, .0397, .05, .063, .0794,
	.1, .126, .158, .2, .25, .315, .397, .5, .63, .794,
	1, 1.26, 1.58, 2, 2.5, 3.15, 3.97, 5, 6.3, 7.94,
	10, 12.5, 15.5, 19.3, 24.1, 30, 37.8, 47.6, 60,
	75.5, 95, 120, 150, 189, 238, 300, 374, 466, 580, 722, 900,
}

// BucketCount is the number of buckets of a histogram of calls. The last one is above all bounds.
const BucketCount = len(fineBounds) + 1

// Bucket is the number of calls in one bucket of a histogram. In JSON it is the array [index, count].
type Bucket struct {
	Index uint8 // less than BucketCount; see BucketBound
	Count uint32
}

// MarshalJSON implements json.Marshaler.
func (b Bucket) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d]", b.Index, b.Count), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bucket) UnmarshalJSON(text []byte) error {
	var pair [2]uint32
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if pair[0] >= uint32(BucketCount) {
		return fmt.Errorf("histogram bucket %d does not exist; the last one is %d", pair[0], BucketCount-1)
	}
	b.Index, b.Count = uint8(pair[0]), pair[1]
	return nil
}

// BucketBound returns the upper bound of bucket i in seconds, or infinity for the last bucket. The bucket includes its bound.
func BucketBound(i int) float64 {
	if i < len(fineBounds) {
		return fineBounds[i]
	}
	return math.Inf(1)
}

// bucketMiddle returns the duration in seconds that stands for the calls of bucket i. It minimizes the largest relative error. In the first
// and the last bucket, it is the finite bound.
func bucketMiddle(i int) float64 {
	switch {
	case i == 0:
		return fineBounds[0]
	case i >= len(fineBounds):
		return fineBounds[len(fineBounds)-1]
	}
	low, high := fineBounds[i-1], fineBounds[i]
	return 2 * low * high / (low + high)
}
