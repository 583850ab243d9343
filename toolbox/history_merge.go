package toolbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/identity/wallet"
)

// position orders the transfers of a chain, the newest first: by block; within a block by the log's
// index, the last first, then transfers without a log; then by id and part. It depends only on the
// transfer, so two pages agree on it.
type position struct {
	block uint64
	place uint32   // of the log, counted from 1; 0 for transfers of the coin
	id    [12]byte // start of the digest of the transfer's id
	part  uint32   // index within an event that moves several tokens
}

// compare returns a negative number if a comes first.
func (a position) compare(b position) int {
	return cmp.Or(cmp.Compare(b.block, a.block), cmp.Compare(b.place, a.place), bytes.Compare(b.id[:], a.id[:]),
		cmp.Compare(a.part, b.part))
}

// beginning is before every transfer.
var beginning = position{block: ^uint64(0)}

// placed is a transfer with its position.
type placed struct {
	Transfer

	position position
}

// merge combines the transfers from an address and those to it into one list. Both come in pages,
// by block, in any order within a block. A transfer from the address to itself is in both.
type merge struct {
	owner wallet.Address
	after position // everything up to it was listed before
	until uint64   // the newest block to read
	limit int
	sides [2]side
	ready []placed // known to be complete, in order
}

// side is what was read of one direction.
type side struct {
	field   string
	size    int // transfers per page
	pageKey string
	found   []placed
	floor   uint64 // block of the last transfer that was read: more of that block may follow
	begun   bool
	ended   bool
}

// behind returns the sides to read next: those not yet begun, or else the one that holds up the
// merge.
func (m *merge) behind() (ask []*side) {
	for i := range m.sides {
		s := &m.sides[i]
		if !s.begun || (!s.ended && s.floor == m.frontier()) {
			ask = append(ask, s)
		}
	}
	return ask
}

// frontier returns the newest block that may be incomplete.
func (m *merge) frontier() (block uint64) {
	for i := range m.sides {
		if s := &m.sides[i]; s.begun && !s.ended {
			block = max(block, s.floor)
		}
	}
	return block
}

// full collects the complete transfers, and reports whether they are more than a page or nothing
// more can come.
func (m *merge) full() bool {
	ended, frontier, unique := m.sides[0].ended && m.sides[1].ended, m.frontier(), map[position]placed{}
	for i := range m.sides {
		for _, t := range m.sides[i].found {
			if (ended || t.BlockNumber > frontier) && m.after.compare(t.position) < 0 {
				unique[t.position] = t
			}
		}
	}
	m.ready = slices.SortedFunc(maps.Values(unique), func(a, b placed) int { return a.position.compare(b.position) })
	return ended || len(m.ready) > m.limit
}

var (
	errDisorder = errors.New("the transfers are not in the order that was asked for")
	errPageKey  = errors.New("a page key that cannot be followed")
)

// take adds a page. If the first page is not the last, the next is read from the start again in
// full size, because a page key is valid only for its page size. Usually the first page is enough.
func (s *side) take(page *transferPage, m *merge) error {
	again := s.begun && s.pageKey == "" // from the start, in full size
	lowest := m.until
	if s.begun && !again {
		lowest = s.floor
	}
	var read []placed
	for i := range page.Transfers {
		transfers, err := page.Transfers[i].read(m.owner)
		if err != nil {
			return fmt.Errorf("transfer %d: %w", i, err)
		}
		block := uint64(page.Transfers[i].Block)
		if block > lowest {
			return errDisorder
		}
		lowest, read = block, append(read, transfers...)
	}
	if page.PageKey != "" && len(page.Transfers) == 0 || len(page.PageKey) > maxPageKey {
		return errPageKey
	}
	if again {
		s.found = nil
	}
	s.found, s.floor, s.ended = append(s.found, read...), lowest, page.PageKey == ""
	if s.begun {
		s.pageKey = page.PageKey
	}
	s.begun, s.size = true, maxAtOnce
	return nil
}

// placeOf returns the place of a log from an id, "<hash>:log:<number>"; 0 for other ids.
func placeOf(id string) uint32 {
	parts := strings.Split(id, ":")
	n, err := strconv.ParseUint(parts[len(parts)-1], 0, 31)
	if len(parts) < 2 || err != nil || strings.HasPrefix(parts[1], "internal") {
		return 0
	}
	return uint32(n) + 1
}

func positionOf(block uint64, id string, part int) position {
	digest := sha256.Sum256([]byte(id))
	//nolint:gosec // bounded by the size of an answer
	return position{block, placeOf(id), [12]byte(digest[:12]), uint32(part)}
}
