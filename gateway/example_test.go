package gateway_test

import (
	"context"
	"errors"
	"fmt"

	"goblin-actor/gateway"
)

func Example() {
	ctx := context.Background()
	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
		"notes": demoServer("notes"), // a program that speaks MCP on stdin and stdout
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	tools, err := g.ListTools(ctx, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range tools {
		fmt.Printf("%s, of %s\n", t.Name, t.Server)
	}

	result, err := g.CallTool(ctx, "notes_add_note", map[string]any{"title": "Milk", "text": "two litres"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())

	_, err = g.CallTool(ctx, "notes_burn_note", nil, nil)
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		fmt.Println(e.Code)
	}
	// Output:
	// notes_add_note, of notes
	// notes_delete_note, of notes
	// notes_edit_note, of notes
	// notes_search_notes, of notes
	// added note:///milk
	// TOOL_NOT_FOUND
}

func ExampleGateway_CallTool() {
	ctx := context.Background()
	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{"oracle": demoServer("oracle")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	result, err := g.CallTool(ctx, "oracle_consult", nil, &gateway.CallOptions{
		Progress: func(p gateway.Progress) {
			if p.Done == p.Total {
				fmt.Println(p.Message)
			}
		},
		Questions: &gateway.Questions{
			Elicit: func(_ context.Context, e gateway.Elicitation) (gateway.Answer, error) {
				fmt.Println(e.Message)
				return gateway.Answer{Action: "accept", Content: map[string]any{"name": "Ugg", "topic": "gold"}}, nil
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// The oracle wants to know who asks.
	// the oracle speaks
	// Ugg, about gold: You will find it where you have looked already.
}
