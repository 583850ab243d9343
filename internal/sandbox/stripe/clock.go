package stripe

import (
	"slices"
	"time"
)

// Kinds of timers.
const (
	dueExpiry    = "session expires"
	dueRenewal   = "subscription renews"
	dueLapse     = "first payment is given up"
	dueFinal     = "invoice becomes final"
	dueRetry     = "payment is tried again"
	dueComplaint = "cardholder disputes"
)

// timer is an event that falls due. It is never removed; when it falls due, holds checks that it
// still applies.
type timer struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	ID   string    `json:"id"`
}

// timers are sorted by when they fall due; those of the same instant by when they were set.
type timers []timer

func (s *Server) due(at time.Time, kind, id string) {
	i, _ := slices.BinarySearchFunc(s.Timers, at, func(t timer, at time.Time) int {
		if t.At.After(at) {
			return 1
		}
		return -1
	})
	s.Timers = slices.Insert(s.Timers, i, timer{at, kind, id})
}

// Advance moves the clock forward and runs everything that falls due until then, in order, each at
// its own instant. It never moves the clock back.
func (s *Server) Advance(to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(to)
	s.changed = true
	s.save()
}

// Next returns when the next timer falls due, ignoring webhooks; false when there is none.
func (s *Server) Next() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.Timers {
		if s.holds(t) {
			return t.At, true
		}
	}
	return time.Time{}, false
}

// follow advances the clock to Options.Clock, if it is set.
func (s *Server) follow() {
	if s.o.Clock != nil {
		s.advance(s.o.Clock())
	}
}

func (s *Server) advance(to time.Time) {
	to = to.UTC().Truncate(time.Second)
	for len(s.Timers) > 0 && !s.Timers[0].At.After(to) {
		t := s.Timers[0]
		s.Timers = s.Timers[1:]
		if t.At.After(s.now) {
			s.now = t.At
		}
		if s.holds(t) {
			s.happen(t)
		}
	}
	if to.After(s.now) {
		s.now = to
	}
}

// holds reports whether a timer still applies.
func (s *Server) holds(t timer) bool {
	at := stamp(t.At.Unix())
	switch t.Kind {
	case dueExpiry:
		return s.Sessions.rows[t.ID].Status == open
	case dueRenewal:
		u := s.Subscriptions.rows[t.ID]
		return !u.ended() && u.Status != incomplete && u.PeriodEnd == at
	case dueLapse:
		return s.Subscriptions.rows[t.ID].Status == incomplete
	case dueFinal:
		i := s.Invoices.rows[t.ID]
		return i != nil && i.Status == draft && i.AutoAdvance && i.FinalizesAt == at
	case dueRetry:
		i := s.Invoices.rows[t.ID]
		return i.Status == open && i.NextPaymentAttempt == at
	case dueComplaint:
		return !s.Charges.rows[t.ID].Disputed
	}
	return false
}

func (s *Server) happen(t timer) {
	switch t.Kind {
	case dueExpiry:
		s.expire(s.Sessions.rows[t.ID])
	case dueRenewal:
		s.renew(s.Subscriptions.rows[t.ID])
	case dueLapse:
		s.lapse(s.Subscriptions.rows[t.ID])
	case dueFinal:
		i := s.Invoices.rows[t.ID]
		s.finalize(i)
		s.collect(i)
	case dueRetry:
		s.collect(s.Invoices.rows[t.ID])
	case dueComplaint:
		s.complain(s.Charges.rows[t.ID], "fraudulent")
	}
}
