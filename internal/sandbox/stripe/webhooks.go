package stripe

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Sender delivers an event as Stripe would: the body and its Stripe-Signature. When it returns an
// error, delivery is retried.
type Sender func(ctx context.Context, payload []byte, signature string) error

// Policy disturbs webhooks, each with a probability in thousandths. With the zero value all arrive
// once, immediately and in order.
type Policy struct {
	Drop      int           // never arrives and is not retried
	Duplicate int           // arrives a second time, whatever the answer
	Reorder   int           // arrives after other webhooks that are due
	Delay     time.Duration // arrives up to this much later, by the server's clock
	// Only lists the types of events that are disturbed; empty means all.
	Only []string
}

// Tally counts webhooks by result.
type Tally struct {
	Sent, Taken, Failed, Dropped, Duplicated int
}

const (
	webhookTimeout = 10 * time.Second
	deliverRounds  = 100 // per call of Deliver: a receiver may cause further events
)

// deliverAgain are the pauses between retries of a webhook: three days in total.
var deliverAgain = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	12 * time.Hour, 12 * time.Hour, 12 * time.Hour, 12 * time.Hour,
}

// delivery is a scheduled delivery of an event.
type delivery struct {
	Event    string    `json:"event"`
	Endpoint string    `json:"endpoint"` // empty for Options.WebhookURL or Send
	At       time.Time `json:"at"`
	Attempt  int       `json:"attempt"`
	Late     bool      `json:"late"`  // behind the others that are due
	Again    bool      `json:"again"` // a duplicate, which is sent once
}

func (s *Server) enqueue(e *event, endpoint string) {
	d := delivery{Event: e.ID, Endpoint: endpoint, At: s.now}
	if p := s.policy; len(p.Only) == 0 || slices.Contains(p.Only, e.Type) {
		chance := func(thousandths int) bool { return s.random.IntN(1000) < thousandths }
		wait := func() time.Duration {
			if p.Delay <= 0 {
				return 0
			}
			return time.Duration(s.random.Int64N(int64(p.Delay) + 1))
		}
		dropped, doubled, late := chance(p.Drop), chance(p.Duplicate), chance(p.Reorder)
		d.At, d.Late = s.now.Add(wait()), late
		if doubled {
			s.told.Duplicated++
			s.Queue = append(s.Queue, delivery{
				Event: e.ID, Endpoint: endpoint, At: s.now.Add(wait()), Late: true, Again: true,
			})
		}
		if dropped {
			s.told.Dropped++
			return
		}
	}
	s.Queue = append(s.Queue, d)
}

// SetPolicy replaces the policy for webhooks of further events.
func (s *Server) SetPolicy(p Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = p
}

// Told returns the counts of webhooks so far.
func (s *Server) Told() Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

// Waiting returns how many webhooks are still to be sent, and when the first one is due; the zero
// time when there is none.
func (s *Server) Waiting() (n int, first time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.Queue {
		if first.IsZero() || d.At.Before(first) {
			first = d.At
		}
	}
	return len(s.Queue), first
}

// Deliver sends the webhooks that are due by the server's clock, one after the other, including
// those that they cause, and returns how many were accepted. Others wait for their next attempt.
func (s *Server) Deliver(ctx context.Context) (taken int, err error) {
	for range deliverRounds {
		batch := s.dueDeliveries()
		if len(batch) == 0 {
			return taken, nil
		}
		for i, d := range batch {
			if err := ctx.Err(); err != nil {
				s.putBack(batch[i:])
				return taken, err
			}
			if s.deliver(ctx, d) {
				taken++
			}
		}
	}
	return taken, fmt.Errorf("webhooks bring about webhooks: stopped after %d rounds", deliverRounds)
}

func (s *Server) putBack(batch []delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Queue = append(s.Queue, batch...)
}

// dueDeliveries removes the due deliveries from the queue and returns them by due time. Those to be
// reordered come last, in random order.
func (s *Server) dueDeliveries() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	if s.down {
		return nil
	}
	var due, late, rest []delivery
	for _, d := range s.Queue {
		switch {
		case d.At.After(s.now):
			rest = append(rest, d)
		case d.Late:
			late = append(late, d)
		default:
			due = append(due, d)
		}
	}
	s.Queue = rest
	slices.SortStableFunc(due, func(a, b delivery) int { return a.At.Compare(b.At) })
	s.random.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	return append(due, late...)
}

// deliver sends one webhook and reports whether it was accepted.
func (s *Server) deliver(ctx context.Context, d delivery) bool {
	payload, signature, target := s.sealed(d)
	if payload == nil {
		return false
	}
	send := s.o.Send
	if d.Endpoint != "" || send == nil {
		send = func(ctx context.Context, payload []byte, signature string) error {
			return s.post(ctx, target, payload, signature)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	err := send(ctx, payload, signature)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told.Sent++
	s.changed = true
	if err == nil {
		s.told.Taken++
		return true
	}
	s.told.Failed++
	s.o.Logger.Warn("webhook was not taken", "event", d.Event, "attempt", d.Attempt+1, "err", err)
	if d.Attempt < len(deliverAgain) && !d.Again {
		d.At, d.Attempt = s.now.Add(deliverAgain[d.Attempt]), d.Attempt+1
		s.Queue = append(s.Queue, d)
	}
	return false
}

// sealed returns an event with a fresh signature; nil when its endpoint no longer exists.
func (s *Server) sealed(d delivery) (payload []byte, signature, target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target, secret := s.o.WebhookURL, s.o.WebhookSecret
	if d.Endpoint != "" {
		w := s.Endpoints.rows[d.Endpoint]
		if w == nil {
			return nil, "", ""
		}
		target, secret = w.URL, w.Secret
	}
	e := s.Events.rows[d.Event]
	payload, err := marshal(e)
	if e == nil || err != nil {
		return nil, "", ""
	}
	return payload, Sign(payload, secret, s.now), target
}

// Sign returns the Stripe-Signature of a payload: scheme v1, an HMAC-SHA-256 over the Unix time and
// the payload.
func Sign(payload []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), payload) // writing to a hash never fails
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

func (s *Server) post(ctx context.Context, target string, payload []byte, signature string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Stripe-Signature", signature)
	req.Header.Set("User-Agent", "Stripe/1.0 (sandbox)")
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)) // so that the connection can be reused
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("answered %d", resp.StatusCode)
	}
	return nil
}

// Run delivers webhooks as they fall due until ctx ends. It is for servers that follow another
// clock.
func (s *Server) Run(ctx context.Context) {
	const look = 200 * time.Millisecond
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if _, err := s.Deliver(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.Warn("webhooks wait for the next round", "err", err)
		}
		s.keep()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
