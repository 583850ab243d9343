package http1_test

import (
	"net/http"
	"testing"
	"time"
)

// The connections that have been idle for the longest time are closed first, whether the fast path
// or net/http serves them.
func TestCloseOldestIdle_LeavesBusyAndYoungerOnes(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{}, 2)
	b := setup(t, settings{handler: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Hold") != "" {
			held <- struct{}{}
			<-hold
		}
		echo(w, r)
	}})
	const foreign = "GET /other HTTP/1.1\r\nHost: a.example\r\n"
	plain, other := b.dial(t), b.dial(t)
	plain.send(post("x")).answer()
	other.send(foreign + "\r\n").answer()
	busy, otherBusy := b.dial(t), b.dial(t)
	busy.send(post("x", "Hold: 1"))
	otherBusy.send(foreign + "Hold: 1\r\n\r\n")
	<-held
	<-held
	// The server's clock ticks every 50 ms: open the younger connections after a tick.
	mark := b.server.Clock()
	b.await(t, func() bool { return b.server.Clock().After(mark) })
	younger, youngerOther := b.dial(t), b.dial(t)
	younger.send(post("x")).answer()
	youngerOther.send(foreign + "\r\n").answer()

	closed := 0
	b.await(t, func() bool { // a connection becomes idle shortly after its answer was read
		closed += b.server.CloseOldestIdle(2 - closed)
		return closed == 2
	})
	plain.over()
	other.over()
	if a := younger.send(post("y")).answer(); a.status != http.StatusOK || a.body != "y" {
		t.Errorf("a younger one is answered %+v", a)
	}
	if a := youngerOther.send(foreign + "\r\n").answer(); a.status != http.StatusOK {
		t.Errorf("a younger one of net/http is answered %+v", a)
	}
	b.await(t, func() bool { return b.server.CloseOldestIdle(9) > 0 })
	close(hold)
	if a := busy.answer(); a.status != http.StatusOK || a.body != "x" {
		t.Errorf("one with a request under way is answered %+v", a)
	}
	if a := otherBusy.answer(); a.status != http.StatusOK {
		t.Errorf("one of net/http's is answered %+v", a)
	}
}

// A connection that never sent a request is idle, too.
func TestCloseOldestIdle_ClosesSilentOnes(t *testing.T) {
	t.Parallel()
	b := setup(t, settings{handler: echo})
	silent := b.dial(t)
	b.await(t, func() bool { return b.server.CloseOldestIdle(1) == 1 })
	silent.over()
}

// The server's clock ticks every 50 ms. Of connections that are idle since the same tick, the first
// that connected is closed first; by the tick alone it could be one that has just connected.
func TestCloseOldestIdle_OrdersWithinATick(t *testing.T) {
	t.Parallel()
	at := time.Now()
	b := setup(t, settings{handler: echo, now: func() time.Time { return at }})
	const all = 20
	clients := make([]*client, all)
	for i := range clients {
		clients[i] = b.dial(t)
		clients[i].send(post("x")).answer()
	}
	// A connection becomes idle shortly after its answer was read.
	b.await(t, func() bool { return b.server.Idle() == all })
	b.server.CloseOldestIdle(all / 2)
	for _, younger := range clients[all/2:] {
		if a := younger.send(post("y")).answer(); a.status != http.StatusOK {
			t.Errorf("a younger one is answered %+v", a)
		}
	}
	for _, older := range clients[:all/2] {
		older.over()
	}
}
