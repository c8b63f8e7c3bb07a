// Package linktest contains helpers for tests of links, mainly a sink that records events.
package linktest
