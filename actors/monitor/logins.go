package monitor

import (
	"context"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// Logins queries the token actors of a system and returns the logins that servers need or have. It blocks on the caller's goroutine until all have
// answered, for at most surveyTime, or until ctx ends. It leaves out actors that have not answered.
func Logins(ctx context.Context, system *kernel.System) []status.Login {
	infos := system.Actors()
	reports := make(chan any, len(infos))
	asked := 0
	for _, info := range infos {
		if info.Kind != "token" {
			continue
		}
		if ref, ok := system.Lookup(info.Name); ok {
			asked++
			ref.Tell(message.Inspect{Reply: func(part any) { reports <- part }})
		}
	}
	timeout := time.NewTimer(surveyTime)
	defer timeout.Stop()
	all := []status.Login{} // an empty list in JSON is [], not null
	for range asked {
		select {
		case part := <-reports:
			if r, is := part.(message.LoginReport); is && r.Phase != phaseNone {
				all = append(all, loginOf(r))
			}
			continue
		case <-timeout.C:
		case <-ctx.Done():
		}
		break
	}
	return all
}

const phaseNone = "none" // LoginReport.Phase: no request has needed the login

func loginOf(r message.LoginReport) status.Login {
	return status.Login{Server: r.Login.Entry, State: r.Phase, Issuer: r.Issuer, Reason: r.Fault, Expires: r.Expires}
}
