// Package stats provides medians and quantiles.
package stats
