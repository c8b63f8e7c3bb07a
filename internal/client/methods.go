package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// maxPages is the maximum number of pages in a list.
const maxPages = 10_000

// List returns the items of all pages. More than maxPages pages are an error.
func (c *Client) List(ctx context.Context, kind protocol.ItemKind) ([]protocol.Item, error) {
	var items []protocol.Item
	var cursor []byte // the raw JSON string
	for range maxPages {
		var params []byte
		if cursor != nil {
			params = slices.Concat([]byte(`{"cursor":`), cursor, []byte("}"))
		}
		result, err := c.request(ctx, kind.ListMethod(), params, nil)
		if err != nil {
			return nil, err
		}
		next, err := page(result, kind, &items)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.ListMethod(), err)
		}
		if next == nil {
			return items, nil
		}
		cursor = next
	}
	return nil, fmt.Errorf("%s: more than %d pages", kind.ListMethod(), maxPages)
}

// page appends the items of one page and returns the raw cursor of the next page, or nil at the end.
func page(result []byte, kind protocol.ItemKind, items *[]protocol.Item) (next []byte, err error) {
	whole := rawjson.Span{End: uint32(len(result))}
	err = protocol.Items(result, rawjson.Member(result, whole, kind.ResultKey()), func(i protocol.Item) bool {
		*items = append(*items, i)
		return true
	})
	cursor := rawjson.Member(result, whole, "nextCursor").Of(result)
	if string(cursor) == "null" {
		cursor = nil
	}
	return cursor, err
}

// Call calls a tool with raw JSON arguments, or nil, and returns its raw result, which may have isError. onProgress
// may be nil. It is called in order by a separate goroutine, and not after Call has returned, except that a running
// call of it may outlast Call if ctx ends. A slow onProgress gets only the newest steps.
func (c *Client) Call(ctx context.Context, name string, args []byte, onProgress func(Progress)) (json.RawMessage, error) {
	return c.named(ctx, protocol.MethodToolsCall, "name", name, args, onProgress)
}

// Read returns the raw result of resources/read.
func (c *Client) Read(ctx context.Context, uri string) (json.RawMessage, error) {
	return c.named(ctx, protocol.MethodResourcesRead, "uri", uri, nil, nil)
}

// Prompt returns the raw result of prompts/get. args is a raw JSON object of strings, or nil.
func (c *Client) Prompt(ctx context.Context, name string, args []byte) (json.RawMessage, error) {
	return c.named(ctx, protocol.MethodPromptsGet, "name", name, args, nil)
}

// Ping sends a ping and waits for the response.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.request(ctx, protocol.MethodPing, nil, nil)
	return err
}

// Subscribe subscribes to the resource uri. Its changes are reported to Options.OnNotification.
func (c *Client) Subscribe(ctx context.Context, uri string) error {
	_, err := c.named(ctx, protocol.MethodResourcesSubscribe, "uri", uri, nil, nil)
	return err
}

// Unsubscribe ends a subscription.
func (c *Client) Unsubscribe(ctx context.Context, uri string) error {
	_, err := c.named(ctx, protocol.MethodResourcesUnsubscribe, "uri", uri, nil, nil)
	return err
}

func (c *Client) named(ctx context.Context, m protocol.Method, member, value string, args []byte, onProgress func(Progress)) (json.RawMessage, error) {
	if args != nil && protocol.Valid(args) != nil {
		return nil, errors.New("arguments: not valid JSON")
	}
	params := fmt.Appendf(nil, `{%q:%s`, member, rawjson.Quote(value))
	if args != nil {
		params = append(append(params, `,"arguments":`...), args...)
	}
	return c.request(ctx, m, append(params, '}'), onProgress)
}
