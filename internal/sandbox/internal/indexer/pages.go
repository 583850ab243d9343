package indexer

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Page keys last as long as the provider's, and so many are kept.
const (
	pageLife = 10 * time.Minute
	maxPages = 10_000
)

// pages remembers what page keys stand for.
type pages struct {
	now func() time.Time

	mu   sync.Mutex // guards kept
	kept map[string]page
}

// page is where a page of a query begins: behind so many of what matches, as the chain was at a
// head.
type page struct {
	query string
	place int
	head  uint64
	until time.Time
}

// mark makes a key for the next page of a query.
func (p *pages) mark(q TransferQuery, next page) string {
	key, now := uuid.NewString(), p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) >= maxPages {
		for k, old := range p.kept {
			if now.After(old.until) {
				delete(p.kept, k)
			}
		}
	}
	if len(p.kept) < maxPages {
		next.query, next.until = fingerprint(q), now.Add(pageLife)
		p.kept[key] = next
	}
	return key
}

// open finds the page of a key; false when it is not known, has expired, or belongs to another
// query.
func (p *pages) open(q TransferQuery) (page, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, ok := p.kept[q.PageKey]
	return kept, ok && kept.query == fingerprint(q) && p.now().Before(kept.until)
}

func fingerprint(q TransferQuery) string {
	q.PageKey = ""
	text, err := json.Marshal(q)
	if err != nil {
		return fmt.Sprintf("%+v", q)
	}
	return string(text)
}

// refusal is an error with the code that clients see.
type refusal struct {
	code    int
	message string
}

// Error is the message that clients see.
func (r *refusal) Error() string { return r.message }

// ErrorCode is for go-ethereum's server.
func (r *refusal) ErrorCode() int { return r.code }

func invalid(format string, args ...any) error { return &refusal{-32602, fmt.Sprintf(format, args...)} }
