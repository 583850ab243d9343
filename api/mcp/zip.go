package mcp

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/flate"
)

// deflated is a value that is compressed once and is part of many answers. The rest of an answer
// differs by the message's id and is added around it in stored blocks (RFC 1951, section 3.2.4), so
// that an answer costs a checksum instead of a compression.
type deflated struct {
	plain  []byte
	blocks []byte // plain compressed, without a final block, aligned to a byte
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
	if err != nil { // the level is valid, and a bytes.Buffer never fails
		panic(err)
	}
	return &deflated{plain, b.Bytes()}
}

// storedMost is the maximum size of a stored block, in bytes.
const storedMost = math.MaxUint16

// between returns opening, the value and closing as one gzip member (RFC 1952). It returns nil when
// opening or closing exceeds a stored block.
func (d *deflated) between(opening, closing []byte) []byte {
	if len(opening) > storedMost || len(closing) > storedMost {
		return nil
	}
	out := make([]byte, 0, 10+5+len(opening)+len(d.blocks)+5+len(closing)+8)
	out = append(out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255) // deflate; no name, no time, unknown system
	out = stored(out, opening, 0)
	out = append(out, d.blocks...)
	out = stored(out, closing, 1)
	sum := crc32.Update(crc32.Update(crc32.ChecksumIEEE(opening), crc32.IEEETable, d.plain), crc32.IEEETable, closing)
	out = binary.LittleEndian.AppendUint32(out, sum)
	//nolint:gosec // ISIZE is modulo 2^32 (RFC 1952)
	return binary.LittleEndian.AppendUint32(out, uint32(len(opening)+len(d.plain)+len(closing)))
}

// stored appends an uncompressed block; last is 1 for the final block of a stream.
func stored(out, plain []byte, last byte) []byte {
	n := uint16(len(plain)) //nolint:gosec // at most storedMost
	out = append(out, last)
	out = binary.LittleEndian.AppendUint16(out, n)
	out = binary.LittleEndian.AppendUint16(out, ^n)
	return append(out, plain...)
}
