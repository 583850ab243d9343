package mcp

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/flate"
)

// deflated is a value in compressed form, made once, that stands in many answers: what surrounds it
// differs by the id of the message, and goes around it in stored blocks (RFC 1951, section 3.2.4),
// so that an answer costs its checksum instead of its compression.
type deflated struct {
	plain  []byte
	blocks []byte // of plain, the last one not marked as such, to a whole byte
}

func newDeflated(plain []byte) *deflated {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = z.Write(plain)
	}
	if err == nil {
		err = z.Flush()
	}
	if err != nil { // the level is one that there is, and memory takes what is written
		panic(err)
	}
	return &deflated{plain, b.Bytes()}
}

// storedMost is how many bytes a stored block holds.
const storedMost = math.MaxUint16

// between returns the value between its surroundings as one gzip member (RFC 1952); nil when those
// are too long for a block each.
func (d *deflated) between(opening, closing []byte) []byte {
	if len(opening) > storedMost || len(closing) > storedMost {
		return nil
	}
	out := make([]byte, 0, 10+5+len(opening)+len(d.blocks)+5+len(closing)+8)
	out = append(out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255) // deflate; no name, no time, made on any system
	out = stored(out, opening, 0)
	out = append(out, d.blocks...)
	out = stored(out, closing, 1)
	sum := crc32.Update(crc32.Update(crc32.ChecksumIEEE(opening), crc32.IEEETable, d.plain), crc32.IEEETable, closing)
	out = binary.LittleEndian.AppendUint32(out, sum)
	//nolint:gosec // modulo 2^32, by the form
	return binary.LittleEndian.AppendUint32(out, uint32(len(opening)+len(d.plain)+len(closing)))
}

// stored appends a block of bytes as they are; last is 1 for the last one of a stream.
func stored(out, plain []byte, last byte) []byte {
	n := uint16(len(plain)) //nolint:gosec // at most storedMost
	out = append(out, last)
	out = binary.LittleEndian.AppendUint16(out, n)
	out = binary.LittleEndian.AppendUint16(out, ^n)
	return append(out, plain...)
}
