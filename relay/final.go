package relay

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// blockHash is the 64 hex digits of a hash of a block or a transaction, in lower case.
type blockHash [64]byte

const hashPrefix = `["0x`

// lookFinal finds the key of a call under the one-week rule. Its first parameter is a hash, which
// nodes read in either case; anything else is left to the upstreams. Before the first snapshot of
// the chain its generation is not known, so nothing is looked up.
func (l *lookup) lookFinal(on *upstream.Chain, m *chain.Method, params []byte) {
	if len(params) > plainMost || !on.Measured() {
		return
	}
	var room [2 * plainMost]byte
	canonical, err := jsonrpc.AppendCanonical(room[:0], params)
	if err != nil || !l.asked.read(canonical) {
		return
	}
	copy(canonical[len(hashPrefix):], l.asked[:])
	l.rule, l.generation = chain.Final, on.Generation()
	var name [64]byte
	l.final = l.key(on, append(name[:0], m.Name...), canonical)
}

// read takes the hash that canonical parameters begin with.
func (h *blockHash) read(canonical []byte) bool {
	end := len(hashPrefix) + len(h)
	if len(canonical) < end+2 || string(canonical[:len(hashPrefix)]) != hashPrefix || canonical[end] != '"' {
		return false
	}
	return h.lower(canonical[len(hashPrefix):end])
}

// lower takes 64 hex digits of either case.
func (h *blockHash) lower(digits []byte) bool {
	for i, c := range digits {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		case c >= 'A' && c <= 'F':
			c += 'a' - 'A'
		default:
			return false
		}
		h[i] = c
	}
	return true
}

// hashIn reads a JSON string of 0x and 64 hex digits; zero when it is none.
func hashIn(text []byte) (h blockHash) {
	if len(text) != len(h)+len(`"0x"`) || string(text[:3]) != `"0x` || !h.lower(text[3:3+len(h)]) {
		return blockHash{}
	}
	return h
}

// key keeps chains, their ids (an operator may give a chain another) and their generations apart.
func (l *lookup) key(on *upstream.Chain, what, params []byte) cache.Key {
	var name [32]byte
	var number [16]byte
	binary.BigEndian.PutUint64(number[:8], on.ChainID)
	binary.BigEndian.PutUint64(number[8:], l.generation)
	return cache.NewKey([]byte(service), append(name[:0], on.ID...), number[:], what, params)
}

// deepKey names the knowledge that a block is deep enough.
func (l *lookup) deepKey(on *upstream.Chain, hash *blockHash) cache.Key {
	return l.key(on, []byte("deep block"), hash[:])
}

// putFinal keeps a result whose block is known and deep enough now. A result about another hash
// than the one that was asked for is not kept, nor one that shows no block, a pending transaction
// for instance.
func (a *answers) putFinal(on *upstream.Chain, m *chain.Method, l *lookup, result []byte) []byte {
	if m.Proof.Number == "" {
		if !a.final.Marked(l.deepKey(on, &l.asked)) {
			return nil
		}
		return a.final.Put(l.final, result, m.TTL)
	}
	shown := readProof(&m.Proof, result)
	head, known := on.CorroboratedHead()
	if !known || !shown.numbered || !chain.Deep(shown.number+m.Proof.Above, head) ||
		(m.Proof.Echo != "" && shown.echo != l.asked) {
		return nil
	}
	if m.Proof.Block != "" && shown.block != (blockHash{}) {
		a.final.Mark(l.deepKey(on, &shown.block), m.TTL)
	}
	return a.final.Put(l.final, result, m.TTL)
}

// proof is what an answer shows of its block.
type proof struct {
	number      uint64
	numbered    bool
	echo, block blockHash // zero when there is none
}

func readProof(want *chain.Proof, result []byte) (p proof) {
	left := 1 // members still to come
	for _, other := range [...]string{want.Echo, want.Block} {
		if other != "" {
			left++
		}
	}
	jsonrpc.Members(result, func(name, val []byte) bool {
		if string(name) == want.Number {
			p.number, p.numbered = quantity(val)
			left--
		}
		if want.Echo != "" && string(name) == want.Echo {
			p.echo = hashIn(val)
			left--
		}
		if want.Block != "" && string(name) == want.Block {
			p.block = hashIn(val)
			left--
		}
		return left > 0
	})
	return p
}

// quantity reads a JSON string that holds a hex quantity below 2^63.
func quantity(text []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(text, []byte(`"0x`))
	if !ok || len(digits) < 2 || digits[len(digits)-1] != '"' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits[:len(digits)-1]), 16, 63)
	return n, err == nil
}
