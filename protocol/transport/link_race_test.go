//go:build race

package transport

const linkRaceEnabled = true
