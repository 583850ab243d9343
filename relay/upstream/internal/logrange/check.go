package logrange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrNotOfRange is in the error of an answer that is not the logs of a range: no array of logs, or
// logs of other blocks.
var ErrNotOfRange = errors.New("the answer is not the logs of the range")

// Checker reads an array of logs as it arrives and checks that they belong to a range: each is of a
// block in it, and all of one block number are of one block. It keeps no log in memory.
type Checker struct {
	within Range
	// each is called for every log, with its place in what was fed; nil if nobody wants to know.
	each func(l log)

	fed    int  // bytes before the present chunk
	depth  int  // of arrays and objects; the logs are at 2
	begun  bool // the array has begun
	ended  bool
	inText bool
	escape bool
	value  bool // after the colon of a member of a log

	token    [maxToken]byte // the content of the present string, as far as it fits
	tokenLen int
	name     member // of the present member of a log

	now      log // the present log
	hasBlock bool
	hasIndex bool
	hash     [maxToken]byte // of the present log's block
	hashLen  int

	last     uint64 // the block of the last log
	lastHash [maxToken]byte
	lastLen  int
	seen     map[uint64]string // hashes of earlier blocks, if the logs are not in order
	any      bool
}

// log is one log of an answer: the block, the index in it, and where its bytes begin and end.
type log struct {
	block, index uint64
	from, to     int
}

// maxToken is longer than every value that is compared: a hash has 66 characters.
const maxToken = 80

// member is a member of a log that is checked.
type member uint8

const (
	unchecked member = iota
	blockNumber
	blockHash
	logIndex
)

// NewChecker returns a checker of an answer to eth_getLogs over a range.
func NewChecker(within Range) *Checker { return &Checker{within: within} }

// Reader returns a reader of the rest of an answer, of which the beginning was fed. It fails with
// ErrNotOfRange at the first log that does not belong.
func (c *Checker) Reader(rest io.Reader) io.Reader { return &checkedReader{rest, c} }

type checkedReader struct {
	io.Reader

	checker *Checker
}

func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if wrong := r.checker.Feed(p[:n]); wrong != nil {
		return 0, wrong
	}
	if errors.Is(err, io.EOF) {
		if wrong := r.checker.End(); wrong != nil {
			return n, wrong
		}
	}
	return n, err
}

// Feed reads the next bytes of the result.
func (c *Checker) Feed(p []byte) error {
	for i := 0; i < len(p); i++ {
		if c.inText {
			i = c.text(p, i)
			if i == len(p) {
				break
			}
			if c.inText = false; c.depth == 2 {
				c.endText()
			}
			continue
		}
		if err := c.structure(p[i], i); err != nil {
			return err
		}
	}
	c.fed += len(p)
	return nil
}

// text skips the content of a string and returns the place of its closing quote, or len(p).
func (c *Checker) text(p []byte, i int) int {
	for i < len(p) {
		if c.escape {
			c.escape = false
			c.keep(p[i : i+1])
			i++
			continue
		}
		n := bytes.IndexByte(p[i:], '"')
		if n < 0 {
			n = len(p) - i
		}
		if e := bytes.IndexByte(p[i:i+n], '\\'); e >= 0 {
			c.keep(p[i : i+e])
			c.escape = true
			i += e + 1
			continue
		}
		c.keep(p[i : i+n])
		return i + n
	}
	return i
}

func (c *Checker) keep(b []byte) {
	if c.depth == 2 {
		copy(c.token[min(c.tokenLen, maxToken):], b)
		c.tokenLen += len(b)
	}
}

// structure reads a byte that is not in a string.
func (c *Checker) structure(b byte, i int) error {
	switch b {
	case '"':
		c.inText, c.tokenLen = true, 0
		if c.depth < 2 {
			return notLogs("is not an array of objects")
		}
	case '[', '{':
		c.depth++
		return c.open(b, i)
	case ']', '}':
		c.depth--
		return c.closed(b, i)
	case ':':
		c.value = c.depth == 2
	case ',':
		if c.depth == 2 {
			c.value, c.name = false, unchecked
		}
	case ' ', '\t', '\r', '\n':
	default:
		if c.depth < 2 {
			return notLogs("is not an array of objects")
		}
	}
	return nil
}

func (c *Checker) open(b byte, i int) error {
	switch c.depth {
	case 1:
		if b != '[' || c.begun {
			return notLogs("is not an array")
		}
		c.begun = true
	case 2:
		if b != '{' {
			return notLogs("has a log that is not an object")
		}
		c.now = log{from: c.fed + i}
		c.hasBlock, c.hasIndex, c.hashLen, c.value, c.name = false, false, 0, false, unchecked
	}
	return nil
}

func (c *Checker) closed(b byte, i int) error {
	switch {
	case c.depth < 0 || (c.depth == 0 && b != ']') || (c.depth == 1 && b != '}'):
		return notLogs("is not an array of objects")
	case c.depth == 0:
		c.ended = true
	case c.depth == 1:
		c.now.to = c.fed + i + 1
		return c.log()
	}
	return nil
}

// endText reads a string of a log: the name of a member, or its value.
func (c *Checker) endText() {
	content := c.token[:min(c.tokenLen, maxToken)]
	if !c.value {
		switch string(content) {
		case "blockNumber":
			c.name = blockNumber
		case "blockHash":
			c.name = blockHash
		case "logIndex":
			c.name = logIndex
		default:
			c.name = unchecked
		}
		return
	}
	switch c.name {
	case blockNumber:
		c.now.block, c.hasBlock = quantity(content)
	case blockHash:
		c.hashLen = copy(c.hash[:], content)
	case logIndex:
		c.now.index, c.hasIndex = quantity(content)
	case unchecked:
	}
}

// log checks the present log, which is complete.
func (c *Checker) log() error {
	n := c.now.block
	switch {
	case !c.hasBlock || !c.hasIndex:
		return notLogs("has a log without a block number or an index")
	case n < c.within.From || n > c.within.To:
		return notLogs("has a log of block %d, outside %d to %d", n, c.within.From, c.within.To)
	}
	hash := bytes.ToLower(c.hash[:c.hashLen])
	switch {
	case !c.any:
	case n == c.last:
		if !bytes.Equal(hash, c.lastHash[:c.lastLen]) {
			return notLogs("has logs of two blocks %d", n)
		}
	default:
		if err := c.change(n, hash); err != nil {
			return err
		}
	}
	c.any, c.last, c.lastLen = true, n, copy(c.lastHash[:], hash)
	if c.each != nil {
		c.each(c.now)
	}
	return nil
}

// change checks a log of another block than the last one. Logs normally come in the order of their
// blocks; to recognize a block that returns, it remembers up to maxSeen of them.
func (c *Checker) change(n uint64, hash []byte) error {
	if c.seen == nil {
		c.seen = make(map[uint64]string)
	}
	if len(c.seen) < maxSeen {
		c.seen[c.last] = string(c.lastHash[:c.lastLen])
	}
	if before, again := c.seen[n]; again && before != string(hash) {
		return notLogs("has logs of two blocks %d", n)
	}
	return nil
}

const maxSeen = 1 << 17

// End reports an answer that stopped before the array's end.
func (c *Checker) End() error {
	if !c.ended {
		return notLogs("is not an array")
	}
	return nil
}

func notLogs(format string, args ...any) error {
	return fmt.Errorf("%w: it "+format, append([]any{ErrNotOfRange}, args...)...)
}

// quantity parses a hex quantity.
func quantity(text []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 16, 64)
	return n, err == nil
}
