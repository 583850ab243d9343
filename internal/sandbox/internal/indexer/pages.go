package indexer

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Lifetime of page keys, as at the provider, and the number that is kept.
const (
	pageLife = 10 * time.Minute
	maxPages = 10_000
)

// pages maps page keys to positions.
type pages struct {
	now func() time.Time

	mu   sync.Mutex // guards kept
	kept map[string]page
}

// page is where a page of a query begins: after place matches, as of the block head.
type page struct {
	query string
	place int
	head  uint64
	until time.Time
}

// mark returns a new key for the next page of a query.
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

// open returns the page of a key; false when the key is unknown, has expired, or belongs to another
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

// refusal is a JSON-RPC error.
type refusal struct {
	code    int
	message string
}

// Error returns the message.
func (r *refusal) Error() string { return r.message }

// ErrorCode returns the code for go-ethereum's RPC server.
func (r *refusal) ErrorCode() int { return r.code }

func invalid(format string, args ...any) error { return &refusal{-32602, fmt.Sprintf(format, args...)} }
