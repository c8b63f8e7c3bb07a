//go:build !race

package transport

const linkRaceEnabled = false
