// Package rollout follows an edited configuration file into a running gateway: it decides from the gateway's status
// whether the edit has taken effect. It prints nothing.
package rollout
