// Package linktest is what the tests of links share: a sink that keeps what it was told.
package linktest
