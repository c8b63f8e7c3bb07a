package kernel_test

import (
	"context"
	"fmt"
	"time"

	"goblin-actor/actors/kernel"
)

// Add asks the counter to add N. The sum is sent to Reply, which has capacity 1.
type Add struct {
	N     int
	Reply chan string
}

// Abandon answers an Add that the counter will not handle.
func (a Add) Abandon(why kernel.Reason) { a.Reply <- "no sum: " + string(why) }

// counter is the state of the actor.
type counter struct{ sum int }

type answered struct {
	to  chan string
	sum int
}

func (c *counter) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if add, ok := msg.(Add); ok {
		c.sum += add.N
		out = append(out, kernel.Act(answered{add.Reply, c.sum}))
	}
	return out
}

func (*counter) Act(_ kernel.Self, act any) {
	e := act.(answered)
	e.to <- fmt.Sprint("the sum is ", e.sum)
}

func Example() {
	system := kernel.New(kernel.Options{})
	ref := kernel.Spawn(system, kernel.SpawnOptions{Name: "counter"},
		func(kernel.Self) kernel.Logic { return &counter{} })
	reply := make(chan string, 1)
	for range 2 {
		ref.Tell(Add{21, reply})
		fmt.Println(<-reply)
	}
	if err := system.Stop(context.Background()); err != nil {
		fmt.Println(err)
	}
	ref.Tell(Add{1, reply})
	fmt.Println(<-reply)
	// Output:
	// the sum is 21
	// the sum is 42
	// no sum: gone
}
