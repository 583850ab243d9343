package toolbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// A cursor is a position in the transfers of one address on one chain, with a checksum over both.
// It gives access to nothing that the address does not, so it is not secret: the checksum detects
// mistakes.
const (
	cursorVersion  = 1
	positionBytes  = 8 + 4 + 12 + 4
	checksumBytes  = 8
	cursorBytes    = 1 + positionBytes + checksumBytes
	cursorContext  = "history cursor"
	badCursorWords = "Correct and send again. cursor: it is not a next_cursor of this address on this chain; send " +
		"one exactly as it came, or none for the newest transfers."
)

// MaxCursor bounds a cursor in characters.
const MaxCursor = 128

func newCursor(id chain.ID, owner wallet.Address, p position) string {
	raw := make([]byte, 0, cursorBytes)
	raw = append(raw, cursorVersion)
	raw = binary.BigEndian.AppendUint64(raw, p.block)
	raw = binary.BigEndian.AppendUint32(raw, p.place)
	raw = append(raw, p.id[:]...)
	raw = binary.BigEndian.AppendUint32(raw, p.part)
	return base64.RawURLEncoding.EncodeToString(append(raw, checksumOf(id, owner, raw)...))
}

func checksumOf(id chain.ID, owner wallet.Address, raw []byte) []byte {
	digest := sha256.Sum256(bytes.Join([][]byte{[]byte(cursorContext), []byte(id), owner[:], raw}, []byte{0}))
	return digest[:checksumBytes]
}

// CheckCursor returns a fault for a text that is no cursor of this address on this chain; the empty
// cursor is valid.
func CheckCursor(id chain.ID, address, text string) *fault.Error {
	_, refusal := parseCursor(id, address, text)
	return refusal
}

// parseCursor parses a cursor; the empty one starts with the newest transfer. Anything else that is
// no cursor of the address is fault.FieldRefused.
func parseCursor(id chain.ID, address, text string) (position, *fault.Error) {
	if text == "" {
		return beginning, nil
	}
	refused := fault.New(fault.FieldRefused, badCursorWords)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	owner, notMine := wallet.ParseAddress(address)
	if err != nil || notMine != nil || len(raw) != cursorBytes || raw[0] != cursorVersion {
		return position{}, refused
	}
	body := raw[:1+positionBytes]
	if !bytes.Equal(raw[len(body):], checksumOf(id, owner, body)) {
		return position{}, refused
	}
	return position{
		block: binary.BigEndian.Uint64(body[1:]), place: binary.BigEndian.Uint32(body[9:]), id: [12]byte(body[13:25]),
		part: binary.BigEndian.Uint32(body[25:]),
	}, nil
}
