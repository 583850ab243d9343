package solana

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mr-tron/base58"
)

// maxWireBytes is the maximum size of a transaction, which must fit in one network packet.
const maxWireBytes = 1_232

type (
	key       [32]byte
	signature [64]byte
)

func (k key) String() string       { return base58.Encode(k[:]) }
func (s signature) String() string { return base58.Encode(s[:]) }

// MarshalText encodes in base58, as in JSON-RPC.
func (k key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// MarshalText encodes in base58, as in JSON-RPC.
func (s signature) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func publicKey(k ed25519.PrivateKey) key { return key(k[ed25519.SeedSize:]) }

const legacyVersion = -1

// wire is a decoded transaction (Solana's documentation, "Transaction wire format").
type wire struct {
	raw        []byte
	signatures []signature
	message
}

type message struct {
	signed           []byte // the bytes that the signatures cover
	version          int    // legacyVersion or 0
	required         int    // signers
	readonlySigned   int
	readonlyUnsigned int
	keys             []key
	blockhash        key
	instructions     []instruction
	lookups          []lookup
}

type instruction struct {
	program  int
	accounts []byte // indexes into keys
	data     []byte
}

type lookup struct {
	table              key
	writable, readonly []byte
}

var errShort = errors.New("io error: failed to fill whole buffer")

// reader consumes a buffer. After the first error, it returns zeros and err is set.
type reader struct {
	buf []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n > len(r.buf) {
		r.fail(errShort)
		return nil
	}
	taken := r.buf[:n:n]
	r.buf = r.buf[n:]
	return taken
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) u8() int {
	if b := r.take(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (r *reader) key() (k key) {
	copy(k[:], r.take(len(k)))
	return k
}

// length reads a compact-u16: seven bits per byte, at most three bytes, shortest form only.
func (r *reader) length() int {
	value := 0
	for i := range 3 {
		b := r.u8()
		value |= (b & 0x7f) << (7 * i)
		if b&0x80 == 0 {
			if b == 0 && i > 0 || value > 0xffff {
				break
			}
			return value
		}
	}
	r.fail(errors.New("invalid short u16 encoding"))
	return 0
}

func (r *reader) bytes() []byte { return r.take(r.length()) }

// parseWire decodes a transaction. As validators do, it ignores trailing bytes.
func parseWire(raw []byte) (*wire, error) {
	r := &reader{buf: raw}
	w := &wire{signatures: make([]signature, 0, 1)}
	for range r.length() {
		s := r.take(len(signature{}))
		if r.err != nil {
			return nil, r.err
		}
		w.signatures = append(w.signatures, signature(s))
	}
	m, rest, err := parseMessage(r)
	if err != nil {
		return nil, err
	}
	w.message = *m
	w.raw = raw[:len(raw)-len(rest)]
	return w, nil
}

func parseMessage(r *reader) (*message, []byte, error) {
	begin := r.buf
	m := &message{version: legacyVersion}
	if len(r.buf) > 0 && r.buf[0]&0x80 != 0 {
		if m.version = r.u8() & 0x7f; m.version != 0 {
			return nil, nil, fmt.Errorf("invalid value: integer `%d`, expected a valid transaction message version",
				m.version)
		}
	}
	m.required, m.readonlySigned, m.readonlyUnsigned = r.u8(), r.u8(), r.u8()
	for range r.length() {
		if r.err != nil {
			break
		}
		m.keys = append(m.keys, r.key())
	}
	m.blockhash = r.key()
	for range r.length() {
		if r.err != nil {
			break
		}
		m.instructions = append(m.instructions, instruction{program: r.u8(), accounts: r.bytes(), data: r.bytes()})
	}
	if m.version == 0 {
		for range r.length() {
			if r.err != nil {
				break
			}
			m.lookups = append(m.lookups, lookup{table: r.key(), writable: r.bytes(), readonly: r.bytes()})
		}
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	m.signed = begin[:len(begin)-len(r.buf)]
	return m, r.buf, nil
}

// sanitize refuses what validators refuse before they read the ledger.
func (m *message) sanitize() *txError {
	if m.required == 0 || m.readonlySigned >= m.required || m.required+m.readonlyUnsigned > len(m.keys) {
		return errSanitize
	}
	total := len(m.keys)
	for _, l := range m.lookups {
		total += len(l.writable) + len(l.readonly)
	}
	for _, i := range m.instructions {
		if i.program == 0 || i.program >= len(m.keys) {
			return errSanitize
		}
		for _, a := range i.accounts {
			if int(a) >= total {
				return errSanitize
			}
		}
	}
	seen := make(map[key]bool, len(m.keys))
	for _, k := range m.keys {
		if seen[k] {
			return errLoadedTwice
		}
		seen[k] = true
	}
	if len(m.lookups) > 0 {
		return errNoLookupTable
	}
	return nil
}

// verify checks every signature over the message.
func (w *wire) verify() bool {
	for i, s := range w.signatures {
		if !ed25519.Verify(w.keys[i][:], w.signed, s[:]) {
			return false
		}
	}
	return true
}

func (m *message) isSigner(i int) bool { return i < m.required }

func (m *message) isWritable(i int) bool {
	if i < m.required {
		return i < m.required-m.readonlySigned
	}
	return i < len(m.keys)-m.readonlyUnsigned
}

// transfer builds and signs a legacy system transfer.
func transfer(from ed25519.PrivateKey, to key, lamports uint64, blockhash key) *wire {
	payer := publicKey(from)
	signed := []byte{1, 0, 1, 3}
	signed = append(signed, payer[:]...)
	signed = append(signed, to[:]...)
	signed = append(signed, systemProgram[:]...)
	signed = append(signed, blockhash[:]...)
	// one instruction: program 2, accounts 0 and 1, 12 bytes: Transfer
	signed = append(signed, 1, 2, 2, 0, 1, 12, 2, 0, 0, 0)
	signed = binary.LittleEndian.AppendUint64(signed, lamports)
	s := signature(ed25519.Sign(from, signed))
	raw := append(append([]byte{1}, s[:]...), signed...)
	data := signed[len(signed)-12:]
	return &wire{raw: raw, signatures: []signature{s}, message: message{
		signed: raw[65:], version: legacyVersion, required: 1, readonlyUnsigned: 1,
		keys: []key{payer, to, systemProgram}, blockhash: blockhash,
		instructions: []instruction{{program: 2, accounts: []byte{0, 1}, data: data}},
	}}
}
