package message

import (
	"net/netip"
	"strings"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Clients take turns in a stateless session's mailbox. A message from a server identifies only its call, by number, so the
// number contains the client's lane.
const laneShift = 48 // position of the lane in a call's number; the bits below count the calls of the holder

// SeqInLane returns the number of a holder's n-th call, for a client of that lane.
func SeqInLane(lane uint32, n uint64) uint64 { return uint64(lane)<<laneShift | n }

// SeqNumber returns the n of SeqInLane, the number that people see.
func SeqNumber(seq uint64) uint64 { return seq & (1<<laneShift - 1) }

func laneOfCall(seq uint64) uint32 { return uint32(seq >> laneShift) }

// LaneOf returns the lane of a client key, between 1 and 65535. Clients that happen to share a lane wait for each other.
func LaneOf(clientKey string) uint32 { return laneFrom(mix(offset, clientKey)) }

// laneOfClient returns the lane of an exchange's client.
func laneOfClient(x *downstream.Exchange, who *identity.Principal) uint32 {
	if principal := PrincipalOf(who); principal != "" {
		return LaneOf(principal)
	}
	address, info := ClientOf(x)
	return laneFrom(mix(mix(offset, address), info))
}

// FNV-1a gives the same lanes in each run, and allocates nothing.
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

// laneFrom mixes the sum so that every byte of the text counts. In FNV-1a the last bytes hardly affect the highest bits, and
// keys of principals may differ only there.
func laneFrom(sum uint64) uint32 {
	sum = (sum ^ sum>>33) * 0xff51afd7ed558ccd // MurmurHash3, finalization
	sum = (sum ^ sum>>33) * 0xc4ceb9fe1a85ec53
	return max(1, uint32((sum^sum>>33)>>laneShift))
}

// maxClientInfo is the number of bytes of clientInfo that distinguish clients.
const maxClientInfo = 256

// ClientOf returns what identifies a client without a session: its address, and on loopback, where all clients share it, also
// its clientInfo. Together they are the client's key.
func ClientOf(x *downstream.Exchange) (address string, info []byte) {
	address = downstream.HostOf(x.Origin.Remote)
	info = x.Params.MetaClientInfo.Of(x.Frame.Raw)
	if x.Frame.Method == protocol.MethodInitialize {
		info = x.Params.ClientInfo.Of(x.Frame.Raw)
	}
	if len(info) == 0 || !onLoopback(address) {
		return address, nil
	}
	return address, info[:min(len(info), maxClientInfo)]
}

// ClientKey returns the key of a client without a session: its principal if it was authenticated, else address and clientInfo.
func ClientKey(x *downstream.Exchange, who *identity.Principal) string {
	if principal := PrincipalOf(who); principal != "" {
		return principal
	}
	address, info := ClientOf(x)
	return address + string(info)
}

// onLoopback reports whether a host, which may be in brackets, is a loopback address.
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
