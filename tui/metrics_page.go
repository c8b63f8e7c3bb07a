package tui

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metric is one series of the page /metrics. The lines of a histogram are one series.
type metric struct {
	name    string
	labels  string         // without le
	kind    string         // counter, gauge, histogram; "" = unknown
	value   float64        // of a histogram: the number of observations
	buckets []metricBucket // of a histogram, ascending
}

// metricBucket counts the observations up to a bound.
type metricBucket struct{ bound, count float64 }

func (m *metric) id() string { return m.name + "{" + m.labels + "}" }

// parseMetrics parses the Prometheus text format. It skips lines that it does not understand.
func parseMetrics(page string) []metric {
	var all []metric
	at := map[string]int{} // by id
	kinds := map[string]string{}
	for text := range strings.Lines(page) {
		text = strings.TrimSpace(text)
		if words := strings.Fields(text); len(words) == 4 && words[0] == "#" && words[1] == "TYPE" {
			kinds[words[2]] = words[3]
			continue
		}
		name, labels, value, ok := parseSample(text)
		if !ok {
			continue
		}
		m := metric{name: name, labels: labels, kind: kinds[name], value: value}
		part := ""
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if family, ok := strings.CutSuffix(name, suffix); ok && kinds[family] == "histogram" {
				m.name, m.kind, part = family, "histogram", suffix
			}
		}
		bound := label(labels, "le")
		if part == "_bucket" {
			m.labels = without(labels, "le")
		}
		i, known := at[m.id()]
		if !known {
			i = len(all)
			at[m.id()] = i
			if part != "" {
				m.value = 0
			}
			all = append(all, m)
		}
		switch part {
		case "_bucket":
			if f, err := strconv.ParseFloat(bound, 64); err == nil {
				all[i].buckets = append(all[i].buckets, metricBucket{f, value})
			}
		case "_count":
			all[i].value = value
		}
	}
	return all
}

// parseSample parses name{labels} value.
func parseSample(text string) (name, labels string, value float64, ok bool) {
	if mark := strings.Index(text, " # "); mark > 0 { // an exemplar
		text = text[:mark]
	}
	at := strings.LastIndexByte(text, ' ')
	if at < 0 || strings.HasPrefix(text, "#") {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(text[at+1:], 64)
	name, labels, _ = strings.Cut(text[:at], "{")
	return name, strings.TrimSuffix(labels, "}"), value, err == nil
}

// label returns the value of a label, or "". It does not decode escape sequences.
func label(labels, name string) string {
	_, rest, ok := strings.Cut(","+labels, ","+name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// without returns labels without one of them.
func without(labels, name string) string {
	value := label(labels, name)
	one := name + `="` + value + `"`
	return strings.Trim(strings.ReplaceAll(","+labels+",", ","+one+",", ","), ",")
}

// quantile estimates the quantile q (from 0 to 1) of a histogram's observations by interpolation within a bucket. It returns
// NaN if there are no observations.
func (m *metric) quantile(q float64) float64 {
	if len(m.buckets) == 0 || m.buckets[len(m.buckets)-1].count == 0 {
		return math.NaN()
	}
	rank := q * m.buckets[len(m.buckets)-1].count
	low := 0.
	for i, b := range m.buckets {
		if b.count >= rank {
			if math.IsInf(b.bound, 1) {
				return low
			}
			before := 0.
			if i > 0 {
				before = m.buckets[i-1].count
			}
			return low + (b.bound-low)*(rank-before)/max(b.count-before, 1)
		}
		low = b.bound
	}
	return low
}

// Limits of the samples of the page /metrics. The console takes samples only while it shows the metrics view.
const (
	samplePause = 5 * time.Second
	maxSamples  = 61
)

// sample holds the values of all series at one time, by id.
type sample struct {
	at     time.Time
	values map[string]float64
}

// sampled returns the samples with a new one, unless the last one is recent. After a long pause, the samples start again.
func sampled(all []sample, page string, now time.Time) []sample {
	if page == "" {
		return all
	}
	if len(all) > 0 {
		switch passed := now.Sub(all[len(all)-1].at); {
		case passed > 6*samplePause, passed < -samplePause: // a gap, or a clock that was set back
			all = nil
		case passed < samplePause:
			return all
		}
	}
	s := sample{now, map[string]float64{}}
	for _, m := range parseMetrics(page) {
		s.values[m.id()] = m.value
	}
	return appended(all, []sample{s}, maxSamples)
}

// perSecond returns how fast a counter rose in the last minute, and whether that is known.
func (m *metric) perSecond(all []sample, now time.Time) (float64, bool) {
	at := slices.IndexFunc(all, func(s sample) bool { return now.Sub(s.at) <= time.Minute })
	if at < 0 || m.kind == "gauge" {
		return 0, false
	}
	was, known := all[at].values[m.id()]
	passed := now.Sub(all[at].at).Seconds()
	if !known || passed < 1 || m.value < was {
		return 0, false
	}
	return (m.value - was) / passed, true
}

// history returns a sparkline of a gauge, or of the growth of a counter. It is "" with fewer than two values.
func (m *metric) history(all []sample) string {
	var values []float64
	for i := range all {
		v, known := all[i].values[m.id()]
		switch {
		case !known:
			continue
		case m.kind == "gauge":
			values = append(values, v)
		case i > 0:
			values = append(values, max(0, v-all[i-1].values[m.id()]))
		}
	}
	if len(values) < 2 {
		return ""
	}
	step := max(1, (len(values)+9)/10)
	var points []float64
	for i := 0; i < len(values); i += step {
		part := values[i:min(i+step, len(values))]
		sum := 0.
		for _, v := range part {
			sum += v
		}
		points = append(points, sum/float64(len(part)))
	}
	return sparkline(points)
}
