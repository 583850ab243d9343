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

// blockHash is the 64 hex digits, in lower case, of the hash of a block or a transaction.
type blockHash [64]byte

const hashPrefix = `["0x`

// lookFinal computes the key of a call under the Final rule. Its first parameter must be a hash, in
// either case; other calls go to the upstreams. Before the chain's first snapshot its generation is
// unknown, so nothing is looked up.
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

// read reads the hash at the start of canonical parameters.
func (h *blockHash) read(canonical []byte) bool {
	end := len(hashPrefix) + len(h)
	if len(canonical) < end+2 || string(canonical[:len(hashPrefix)]) != hashPrefix || canonical[end] != '"' {
		return false
	}
	return h.lower(canonical[len(hashPrefix):end])
}

// lower reads 64 hex digits of either case.
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

// hashIn reads a JSON string of 0x and 64 hex digits. It returns the zero hash for anything else.
func hashIn(text []byte) (h blockHash) {
	if len(text) != len(h)+len(`"0x"`) || string(text[:3]) != `"0x` || !h.lower(text[3:3+len(h)]) {
		return blockHash{}
	}
	return h
}

// key separates chains, chain ids (an operator may change a chain's id) and generations.
func (l *lookup) key(on *upstream.Chain, what, params []byte) cache.Key {
	var name [32]byte
	var number [16]byte
	binary.BigEndian.PutUint64(number[:8], on.ChainID)
	binary.BigEndian.PutUint64(number[8:], l.generation)
	return cache.NewKey([]byte(service), append(name[:0], on.ID...), number[:], what, params)
}

// deepKey is the key of the mark that a block is deep enough.
func (l *lookup) deepKey(on *upstream.Chain, hash *blockHash) cache.Key {
	return l.key(on, []byte("deep block"), hash[:])
}

// putFinal caches a result whose block is known and deep enough now. It does not cache a result
// about another hash than the requested one, nor one without a block, for example a pending
// transaction.
func (a *answers) putFinal(on *upstream.Chain, m *chain.Method, l *lookup, result []byte) []byte {
	if m.Proof.Number == "" {
		if !a.final.Marked(l.deepKey(on, &l.asked)) {
			return nil
		}
		return a.final.Put(l.final, result, m.TTL)
	}
	shown := readProof(&m.Proof, result)
	l.shown = shown.number
	head, known := on.CorroboratedHead()
	if !known || !shown.numbered || !on.Deep(shown.number+m.Proof.Above, head) ||
		(m.Proof.Echo != "" && shown.echo != l.asked) {
		return nil
	}
	if m.Proof.Block != "" && shown.block != (blockHash{}) {
		a.final.Mark(l.deepKey(on, &shown.block), m.TTL)
	}
	return a.final.Put(l.final, result, m.TTL)
}

// proof is what an answer shows about its block.
type proof struct {
	number      uint64
	numbered    bool
	echo, block blockHash // zero if absent
}

func readProof(want *chain.Proof, result []byte) (p proof) {
	left := 1 // members still to find
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

// quantity parses a JSON string with a hex quantity below 2^63.
func quantity(text []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(text, []byte(`"0x`))
	if !ok || len(digits) < 2 || digits[len(digits)-1] != '"' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits[:len(digits)-1]), 16, 63)
	return n, err == nil
}
