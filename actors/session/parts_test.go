package session

import (
	"fmt"
	"testing"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/message"
)

func TestQuestions(t *testing.T) {
	var q questions
	for want := uint64(1); want <= 3; want++ {
		if id := q.add(question{seq: want}); id != want {
			t.Errorf("add returned %d, want %d", id, want)
		}
	}
	if taken, ok := q.take(2); !ok || taken.seq != 2 {
		t.Errorf("take(2) = %+v, %v", taken, ok)
	}
	for _, id := range []uint64{0, 2, 4} {
		if taken, ok := q.take(id); ok {
			t.Errorf("take(%d) = %+v, want none", id, taken)
		}
	}
	if id := q.add(question{}); id != 4 {
		t.Errorf("add returned the id %d again, want 4", id)
	}
}

func TestTasksForgetTheOldest(t *testing.T) {
	var k tasks
	for i := range maxTasks + 2 {
		k.add(fmt.Sprint(i), &task{})
	}
	for id, want := range map[string]bool{"0": false, "1": false, "2": true, fmt.Sprint(maxTasks + 1): true} {
		if got := k.known[id] != nil; got != want {
			t.Errorf("task %s is known: %v, want %v", id, got, want)
		}
	}
	k.add("2", &task{}) // already known: it replaces itself and becomes the newest
	if len(k.known) != maxTasks || k.known["3"] == nil || k.known["2"].number != maxTasks+3 {
		t.Errorf("%d tasks, task 2 is number %d", len(k.known), k.known["2"].number)
	}
}

func TestTasksAfter(t *testing.T) {
	var k tasks
	for i := 1; i <= 5; i++ {
		k.add(fmt.Sprint(i), &task{own: fmt.Sprint(i)})
	}
	for _, test := range []struct {
		after uint64
		n     int
		want  string
		next  uint64
	}{
		{0, 5, "12345", 0}, {0, 6, "12345", 0}, {0, 4, "1234", 4}, {4, 4, "5", 0}, {5, 4, "", 0}, {2, 2, "34", 4}, {2, 3, "345", 0}, {9, 3, "", 0},
	} {
		page, next := k.after(test.after, test.n, func(*task) bool { return true })
		got := ""
		for _, t := range page {
			got += t.own
		}
		if got != test.want || next != test.next {
			t.Errorf("after(%d, %d) = %s, %d, want %s, %d", test.after, test.n, got, next, test.want, test.next)
		}
	}
	if page, next := k.after(0, 2, func(t *task) bool { return t.own == "4" }); len(page) != 1 || next != 0 {
		t.Errorf("%d tasks are served, next %d", len(page), next)
	}
}

func TestSubscriptionsKeepUpdates(t *testing.T) {
	r := clientsubs.Resource{Server: "one", URI: "file:///d"}
	update := func(i int) message.ResourceUpdated {
		return message.ResourceUpdated{Server: "one", URI: fmt.Sprintf("file:///d/%d", i)}
	}
	u := subscriptions{active: map[clientsubs.Resource]*clientsubs.Subscription{r: {}}}
	for i := range maxDueOfResource {
		if u.keep(r, update(i)) {
			t.Fatalf("update %d has taken the place of others", i)
		}
	}
	if !u.keep(r, update(3)) || u.waiting != maxDueOfResource {
		t.Errorf("an update of a URI that already waits: %d wait, want %d", u.waiting, maxDueOfResource)
	}
	if !u.keep(r, update(maxDueOfResource)) || u.waiting != 1 || u.active[r].Due[0].URI != r.URI {
		t.Errorf("one update too many: %d wait, want 1 of the resource itself", u.waiting)
	}
	if all := u.takeWaiting(); len(all) != 1 || u.waiting != 0 || len(u.takeWaiting()) != 0 {
		t.Errorf("%d updates are taken, %d wait then", len(all), u.waiting)
	}
	u.waiting = maxDueTogether
	if u.keep(r, update(0)); u.waiting != maxDueTogether+1 || len(u.active[r].Due) != 1 {
		t.Errorf("the first update of a resource is not kept when %d wait", maxDueTogether)
	}
	if !u.keep(r, update(1)) || len(u.active[r].Due) != 1 || u.active[r].Due[0].URI != r.URI {
		t.Errorf("the second one is kept beside the first when %d wait", maxDueTogether)
	}
}
