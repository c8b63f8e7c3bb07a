//go:build !linux

package main

// forgetProgram is for Linux only.
func forgetProgram() {}
