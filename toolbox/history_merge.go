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

// position orders the transfers of a chain, the newest first: by block; inside one by the place of
// the log, the last first, then those without one; then by what tells them apart. It is known from
// a transfer alone, so two pages agree on it.
type position struct {
	block uint64
	place uint32   // of the log, counted from 1; 0 for transfers of the coin
	id    [12]byte // begin of the digest of the transfer's id
	part  uint32   // of an event that moves several tokens
}

// compare is negative when a comes first.
func (a position) compare(b position) int {
	return cmp.Or(cmp.Compare(b.block, a.block), cmp.Compare(b.place, a.place), bytes.Compare(b.id[:], a.id[:]),
		cmp.Compare(a.part, b.part))
}

// beginning is before every transfer.
var beginning = position{block: ^uint64(0)}

// placed is a transfer with its place in the order.
type placed struct {
	Transfer

	position position
}

// merge puts the transfers from an address and those to it into one list. The two come in pages, by
// block, in any order inside a block; one from the address to itself comes in both.
type merge struct {
	owner wallet.Address
	after position // everything up to it was listed before
	until uint64   // the newest block that is looked at
	limit int
	sides [2]side
	ready []placed // known to be complete, in order
}

// side is what was read of one direction.
type side struct {
	field   string
	size    int // transfers of a page
	pageKey string
	found   []placed
	floor   uint64 // block of the last one that was read: of that block more may follow
	begun   bool
	ended   bool
}

// behind are the sides to ask next: those of which nothing is known, or else the one that reaches
// down least.
func (m *merge) behind() (ask []*side) {
	for i := range m.sides {
		s := &m.sides[i]
		if !s.begun || (!s.ended && s.floor == m.frontier()) {
			ask = append(ask, s)
		}
	}
	return ask
}

// frontier is the newest block that may not be known whole.
func (m *merge) frontier() (block uint64) {
	for i := range m.sides {
		if s := &m.sides[i]; s.begun && !s.ended {
			block = max(block, s.floor)
		}
	}
	return block
}

// full gathers what is complete, and tells whether it fills the page with one more, or nothing more
// can come.
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

// take adds a page. When the first one is not all, the next is asked for from the start and in full
// size, because a page key belongs to the size of its page; mostly the first is enough.
func (s *side) take(page *transferPage, m *merge) error {
	again := s.begun && s.pageKey == "" // in full size
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

// placeOf reads the place of a log out of an id, "<hash>:log:<number>": 0 when it is of none.
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
