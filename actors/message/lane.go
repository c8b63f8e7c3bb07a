package message

import (
	"net/netip"
	"strings"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// At a desk clients take turns. Which client a message is about stands in the number of its call, as a lane: what comes
// back from a server says no more than that number.
const laneShift = 48 // of the lane in a call's number; below it is the number of the call at the desk

// NumberIn returns the number of the n-th call of a desk, for a client of that lane.
func SeqInLane(lane uint32, n uint64) uint64 { return uint64(lane)<<laneShift | n }

// NumberAtDesk is the n of NumberIn: what people are shown.
func SeqNumber(seq uint64) uint64 { return seq & (1<<laneShift - 1) }

func laneOfCall(seq uint64) uint32 { return uint32(seq >> laneShift) }

// LaneOf is the lane of the client that is counted under that key, between 1 and 65535: two of many may have the same, and
// wait for each other then.
func LaneOf(clientKey string) uint32 { return laneFrom(mix(offset, clientKey)) }

// laneOfClient is LaneOf for the client of an exchange.
func laneOfClient(x *downstream.Exchange, who *identity.Principal) uint32 {
	if principal := PrincipalOf(who); principal != "" {
		return LaneOf(principal)
	}
	address, info := ClientOf(x)
	return laneFrom(mix(mix(offset, address), info))
}

// FNV-1a: the same in each run, and without memory of its own.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

func mix[T string | []byte](sum uint64, text T) uint64 {
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * prime
	}
	return sum
}

// laneFrom takes of a sum what every byte of the text has a say in: of FNV-1a alone the last ones hardly have one in the highest bits, and
// principals may differ in nothing else.
func laneFrom(sum uint64) uint32 {
	sum = (sum ^ sum>>33) * 0xff51afd7ed558ccd // MurmurHash3, finalization
	sum = (sum ^ sum>>33) * 0xc4ceb9fe1a85ec53
	return max(1, uint32((sum^sum>>33)>>laneShift))
}

// maxClientInfo is how many bytes of what a client says of itself tell it from others.
const maxClientInfo = 256

// ClientOf returns what is counted as one client where there is no session: an address; on this machine, where all have
// the same one, what the client calls itself as well. Put together they are its key.
func ClientOf(x *downstream.Exchange) (address string, info []byte) {
	address = downstream.HostOf(x.Origin.Remote)
	info = x.Params.MetaClientInfo.Of(x.Frame.Raw)
	if x.Frame.M == protocol.MethodInitialize {
		info = x.Params.ClientInfo.Of(x.Frame.Raw)
	}
	if len(info) == 0 || !onLoopback(address) {
		return address, nil
	}
	return address, info[:min(len(info), maxClientInfo)]
}

// ClientKey is the key of a client without a session: its principal where somebody was asked.
func ClientKey(x *downstream.Exchange, who *identity.Principal) string {
	if principal := PrincipalOf(who); principal != "" {
		return principal
	}
	address, info := ClientOf(x)
	return address + string(info)
}

// onLoopback reports whether a host is this machine, to which addresses in brackets belong as well.
func onLoopback(host string) bool {
	if strings.HasPrefix(host, "127.") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().IsLoopback()
}

func (m RequestWritten) Lane() uint32        { return laneOfCall(m.Seq) }
func (m Progress) Lane() uint32              { return laneOfCall(m.Seq) }
func (m Log) Lane() uint32                   { return laneOfCall(m.Seq) }
func (m ServerRequest) Lane() uint32         { return laneOfCall(m.Seq) }
func (m ServerRequestCanceled) Lane() uint32 { return laneOfCall(m.Seq) }
func (m Done) Lane() uint32                  { return laneOfCall(m.Seq) }
func (m Failed) Lane() uint32                { return laneOfCall(m.Seq) }
func (m TaskMade) Lane() uint32              { return laneOfCall(m.Seq) }
