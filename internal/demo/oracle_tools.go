package demo

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"goblin-actor/protocol"
)

// The form of consult has every kind of field. Titled choices and lists were added in 2025-11-25.
const (
	consultName   = `"name": {"type": "string", "title": "Your name", "minLength": 1, "maxLength": 40}`
	consultFields = `
		"age": {"type": "integer", "title": "Your age", "description": "in years, goblin or not", "minimum": 1, "maximum": 999, "default": 30},
		"luck": {"type": "number", "title": "Your luck", "minimum": 0, "maximum": 1},
		"share": {"type": "boolean", "title": "May others hear it", "default": false}`
	consultForm = `{"type": "object", "required": ["name", "topic"], "properties": {` + consultName + `,
		"topic": {"type": "string", "title": "What about", "default": "gold", "oneOf": [
			{"const": "gold", "title": "Gold and riches"}, {"const": "love", "title": "Love"}, {"const": "war", "title": "War and glory"}]},
		"omens": {"type": "array", "title": "Omens you saw", "maxItems": 2, "items": {"type": "string", "enum": ["crow", "comet", "toad"]}},` + consultFields + `}}`
	consultFormOld = `{"type": "object", "required": ["name", "topic"], "properties": {` + consultName + `,
		"topic": {"type": "string", "title": "What about", "enum": ["gold", "love", "war"], "enumNames": ["Gold and riches", "Love", "War and glory"]},` + consultFields + `}}`
)

var futures = map[string]string{
	"gold": "You will find it where you have looked already.",
	"love": "It has six legs and is patient.",
	"war":  "Bring a bigger shovel.",
}

// consult asks the user with a form.
func consult(c *Call) (any, error) {
	c.Progress(1, oracleSteps, "the smoke rises")
	fields := consultForm
	if !c.session.knows(protocol.Version20251125) {
		fields = consultFormOld
	}
	replies, err := c.askAll(form("form", "The oracle wants to know who asks.", fields))
	if err != nil {
		return nil, err
	}
	c.Progress(2, oracleSteps, "the smoke clears")
	var who struct {
		Name, Topic string
		Age         json.Number
		Omens       []string
	}
	action, ok, err := replies[0].filled(&who)
	if err != nil {
		return nil, err
	}
	if !ok {
		return Text("The oracle says nothing: the form came back with %q.", action), nil
	}
	future, known := futures[who.Topic]
	if !known {
		return nil, fmt.Errorf("the oracle knows nothing of %q", who.Topic)
	}
	c.Progress(oracleSteps, oracleSteps, "the oracle speaks")
	var r strings.Builder
	r.WriteString(who.Name)
	if who.Age != "" {
		fmt.Fprintf(&r, " (%s)", who.Age)
	}
	fmt.Fprintf(&r, ", about %s: %s", who.Topic, future)
	if len(who.Omens) > 0 {
		fmt.Fprintf(&r, " Beware of the %s.", strings.Join(who.Omens, " and the "))
	}
	return Text("%s", r.String()), nil
}

// divine asks the model.
func divine(c *Call) (any, error) {
	var args struct {
		Question string `json:"question"`
	}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	if strings.TrimSpace(args.Question) == "" {
		return nil, fmt.Errorf("question is required: what to ask the model")
	}
	c.Progress(1, oracleSteps, "asking the model")
	replies, err := c.askAll(toModel("model", args.Question))
	if err != nil {
		return nil, err
	}
	c.Progress(2, oracleSteps, "the model has answered")
	text, err := replies[0].said()
	if err != nil {
		return nil, err
	}
	c.Progress(oracleSteps, oracleSteps, "the oracle speaks")
	return Text("The model says: %s", text), nil
}

// lookAround asks for the client's roots.
func lookAround(c *Call) (any, error) {
	replies, err := c.askAll(forRoots("roots"))
	if err != nil {
		return nil, err
	}
	text, err := replies[0].roots()
	if err != nil {
		return nil, err
	}
	return Text("%s", text), nil
}

// visit asks the user to open a page. The page does not report visits, so an accepted request counts as a visit.
func visit(c *Call) (any, error) {
	id := rand.Text()
	params := map[string]any{"mode": "url", "url": "https://example.com/shrine", "message": "Bow before the shrine, then come back."}
	if !c.modern() {
		params["elicitationId"] = id
	}
	replies, err := c.askAll(question{"page", needsURL, protocol.MethodElicitationCreate, params})
	if err != nil {
		return nil, err
	}
	action, ok, err := replies[0].filled(nil)
	if err != nil {
		return nil, err
	}
	if !ok {
		return Text("You did not go (%s).", action), nil
	}
	if !c.modern() {
		c.notify(protocol.NotificationElicitationComplete, map[string]string{"elicitationId": id})
	}
	return Text("The shrine has seen you."), nil
}

// council asks three questions at once. In place of a missing answer, its result states the reason.
func council(c *Call) (any, error) {
	c.Progress(1, oracleSteps, "the council gathers")
	replies, err := c.askAll(
		form("user", "What does the user say?", `{"type": "object", "required": ["opinion"], "properties": {"opinion": {"type": "string", "title": "Your opinion"}}}`),
		toModel("model", "What does the model say?"),
		forRoots("roots"),
	)
	if err != nil {
		return nil, err
	}
	c.Progress(2, oracleSteps, "the council has spoken")
	var user struct{ Opinion string }
	action, filled, err := replies[0].filled(&user)
	opinion := user.Opinion
	switch {
	case err != nil:
		opinion = fmt.Sprintf("(%v)", err)
	case !filled:
		opinion = "(" + action + ")"
	}
	model, err := replies[1].said()
	if err != nil {
		model = fmt.Sprintf("(%v)", err)
	}
	roots, err := replies[2].roots()
	if err != nil {
		roots = fmt.Sprintf("(%v)", err)
	}
	c.Progress(oracleSteps, oracleSteps, "the council closes")
	return Text("The user says: %s\nThe model says: %s\nThe client's roots: %s", opinion, model, roots), nil
}

// riddleRounds is the maximum number of guesses.
const riddleRounds = 3

// poseRiddle asks in several rounds, in which each question depends on the previous answer.
func poseRiddle(c *Call) (any, error) {
	message := "What gets bigger the more is taken away?"
	const answer = "hole"
	for round := range riddleRounds {
		c.Progress(float64(round+1), riddleRounds+1, fmt.Sprintf("guess %d of %d", round+1, riddleRounds))
		replies, err := c.askAll(form(fmt.Sprintf("guess%d", round+1), message,
			`{"type": "object", "required": ["guess"], "properties": {"guess": {"type": "string", "title": "Your guess", "maxLength": 80}}}`))
		if err != nil {
			return nil, err
		}
		var user struct{ Guess string }
		action, ok, err := replies[0].filled(&user)
		if err != nil {
			return nil, err
		}
		if !ok {
			return Text("You gave up: %s.", action), nil
		}
		if strings.Contains(strings.ToLower(user.Guess), answer) {
			c.Progress(riddleRounds+1, riddleRounds+1, "solved")
			return Text("Right: a hole. Solved with %d of %d guesses.", round+1, riddleRounds), nil
		}
		message = fmt.Sprintf("No, not %q. Miners make it. What gets bigger the more is taken away?", user.Guess)
	}
	c.Progress(riddleRounds+1, riddleRounds+1, "not solved")
	return Text("It was a hole."), nil
}

// prophecy is a prompt that asks the user first.
func prophecy(c *Call) (any, error) {
	replies, err := c.askAll(form("name", "Whom is the prophecy about?",
		`{"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "title": "Name", "maxLength": 40}}}`))
	if err != nil {
		return nil, err
	}
	var about struct{ Name string }
	if action, ok, err := replies[0].filled(&about); err != nil {
		return nil, &Error{Code: codeInvalidRequest, Message: err.Error()}
	} else if !ok {
		return nil, &Error{Code: codeInvalidRequest, Message: "no name was given: " + action}
	}
	return said(textBlock("Write a prophecy about " + about.Name + ", in four dark lines.")), nil
}

// whisper is a resource that asks the model first.
func whisper(c *Call) (any, error) {
	replies, err := c.askAll(toModel("model", "Whisper something."))
	if err != nil {
		return nil, err
	}
	text, err := replies[0].said()
	if err != nil {
		return nil, &Error{Code: codeInvalidRequest, Message: err.Error()}
	}
	return contents(c.Name, "text/plain", "text", text), nil
}
