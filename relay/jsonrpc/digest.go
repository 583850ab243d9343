package jsonrpc

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
)

// Digest identifies a JSON value however it is written: white space, escapes, the notation of a
// fraction and the order of members do not change it, and a member that is null counts as absent.
type Digest [sha256.Size]byte

// Shape says what else does not change a digest: of a value, or of every element of an array.
type Shape struct {
	// Members are the shapes of an object's members; one that is not listed has none.
	Members map[string]*Shape
	// Ignored leaves the value out.
	Ignored bool
	// Absent is a scalar in its normal form, or [] or {}, that means the same as no member.
	Absent string
	// Quantity makes leading zeros after 0x count for nothing.
	Quantity bool
}

// NewDigest returns the digest of b, one JSON value, in a shape; nil for none. fold makes the case
// of strings that are hex digits after 0x count for nothing. The error is ErrSyntax, ErrTooDeep
// (MaxRequestDepth) or ErrAmbiguous.
func NewDigest(b []byte, shape *Shape, fold bool) (Digest, error) {
	d := digester{b: b, fold: fold}
	i := space(b, 0)
	v, i, err := d.value(i, MaxRequestDepth, shape)
	if err == nil && space(b, i) != len(b) {
		err = ErrSyntax
	}
	return v.sum, err
}

type digester struct {
	b    []byte
	fold bool
	text []byte // a scalar in its normal form; reused
}

// digested is a value that was read. short is its normal form if that is a scalar, [] or {}; it is
// valid until the next value is read.
type digested struct {
	sum   Digest
	short []byte
}

var noShape = new(Shape)

func (d *digester) value(i, depth int, shape *Shape) (v digested, end int, err error) {
	if shape == nil {
		shape = noShape
	}
	switch {
	case i >= len(d.b):
		return v, 0, ErrTruncated
	case d.b[i] == '{':
		return d.object(i, depth, shape)
	case d.b[i] == '[':
		return d.array(i, depth, shape)
	}
	if end, err = value(d.b, i, 0); err != nil {
		return v, 0, err
	}
	if err = d.normalize(d.b[i:end], shape); err != nil {
		return v, 0, err
	}
	return digested{sha256.Sum256(d.text), d.text}, end, nil
}

// normalize writes the normal form of a scalar to text.
func (d *digester) normalize(raw []byte, shape *Shape) (err error) {
	d.text = d.text[:0]
	if raw[0] != '"' {
		d.text = appendNumber(d.text, raw)
		return nil
	}
	if d.text, err = canonicalString(d.text, raw); err != nil || !d.fold {
		return err
	}
	digits, isHex := hexDigits(d.text)
	if !isHex {
		return nil
	}
	for i, c := range digits {
		if c >= 'A' && c <= 'F' {
			digits[i] = c | 0x20
		}
	}
	if shape.Quantity {
		kept := bytes.TrimLeft(digits, "0")
		if len(kept) == 0 {
			kept = []byte("0")
		}
		d.text = append(append(d.text[:len(`"0x`)], kept...), '"')
	}
	return nil
}

// hexDigits returns the digits of a quoted string that is 0x and nothing but hex digits.
func hexDigits(quoted []byte) (digits []byte, ok bool) {
	if len(quoted) < len(`"0x"`) || string(quoted[:len(`"0x`)]) != `"0x` {
		return nil, false
	}
	digits = quoted[len(`"0x`) : len(quoted)-1]
	return digits, !slices.ContainsFunc(digits, func(c byte) bool { return !isHex(c) })
}

// appendNumber appends a number, or a literal. Whole numbers stay as they are, however large.
func appendNumber(out, raw []byte) []byte {
	if bytes.IndexByte(raw, '.') < 0 && !bytes.ContainsAny(raw, "eE") || !isDigit(raw[len(raw)-1]) {
		return append(out, raw...)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil { // larger than any float
		return append(out, raw...)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}

func (d *digester) array(i, depth int, shape *Shape) (v digested, end int, err error) {
	if depth <= 0 {
		return v, 0, ErrTooDeep
	}
	i = space(d.b, i+1)
	if i < len(d.b) && d.b[i] == ']' {
		return digested{sha256.Sum256([]byte("[]")), []byte("[]")}, i + 1, nil
	}
	all := sha256.New()
	_, _ = all.Write([]byte{'['})
	for more := true; more; {
		if v, i, err = d.value(i, depth-1, shape); err != nil {
			return v, 0, err
		}
		_, _ = all.Write(v.sum[:])
		if i, more, err = next(d.b, i, ']'); err != nil {
			return v, 0, err
		}
	}
	v = digested{}
	all.Sum(v.sum[:0])
	return v, i, nil
}

// digestedMember is a member of an object, with its name in normal form.
type digestedMember struct {
	name   string
	sum    Digest
	counts bool
}

func (d *digester) object(i, depth int, shape *Shape) (v digested, end int, err error) {
	if depth <= 0 {
		return v, 0, ErrTooDeep
	}
	i = space(d.b, i+1)
	if i < len(d.b) && d.b[i] == '}' {
		return emptyObject, i + 1, nil
	}
	var all []digestedMember
	for more := true; more; {
		var m digestedMember
		if m, i, err = d.member(i, depth, shape); err != nil {
			return v, 0, err
		}
		all = append(all, m)
		if i, more, err = next(d.b, i, '}'); err != nil {
			return v, 0, err
		}
	}
	v, err = digestMembers(all)
	return v, i, err
}

func (d *digester) member(i, depth int, shape *Shape) (m digestedMember, end int, err error) {
	name, from, err := memberName(d.b, i)
	if err != nil {
		return m, 0, err
	}
	quoted, err := canonicalString(nil, d.b[i:i+len(name)+2])
	if err != nil {
		return m, 0, err
	}
	m.name = string(quoted)
	of := shape.Members[m.name[1:len(m.name)-1]]
	if of == nil {
		of = noShape
	}
	v, end, err := d.value(from, depth-1, of)
	short := string(v.short)
	m.sum, m.counts = v.sum, !of.Ignored && short != "null" && (short == "" || short != of.Absent)
	return m, end, err
}

var emptyObject = digested{sha256.Sum256([]byte("{}")), []byte("{}")}

// digestMembers adds up members, whatever their order. A name begins and ends with a quote, so none
// runs into a digest.
func digestMembers(all []digestedMember) (v digested, err error) {
	slices.SortFunc(all, func(x, y digestedMember) int { return strings.Compare(x.name, y.name) })
	v = emptyObject
	whole := sha256.New()
	_, _ = whole.Write([]byte{'{'})
	for i := range all {
		if i > 0 && all[i].name == all[i-1].name {
			return v, ErrAmbiguous
		}
		if all[i].counts {
			_, _ = whole.Write([]byte(all[i].name))
			_, _ = whole.Write(all[i].sum[:])
			v.short = nil
		}
	}
	if v.short == nil {
		whole.Sum(v.sum[:0])
	}
	return v, nil
}
