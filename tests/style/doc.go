// Package style checks how the project is written: plain words, documented exports, and small functions and state.
//
// One test prints a sample of the prose for a reader to judge: make prose-sample SEED=1.
package style
