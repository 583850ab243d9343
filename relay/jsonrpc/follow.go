package jsonrpc

// follower validates one JSON value that arrives in chunks, and finds its end (RFC 8259). It keeps
// one bit per open bracket and none of the bytes.
type follower struct {
	state   state
	after   state // of a token: the state that follows it
	depth   int
	objects [MaxResponseDepth / 64]uint64 // whether the bracket at a depth is a brace
	hex     int                           // remaining digits of a \u escape
	word    string                        // the rest of a literal
}

// state is what the follower expects next.
type state uint8

const (
	wantValue      state = iota // a value
	wantItem                    // a value, or the end of the array that just began
	wantMember                  // a name, or the end of the object that just began
	wantName                    // a name
	wantColon                   // a colon
	wantNext                    // a comma or a closing bracket
	inString                    // from here on, the rest of a token
	inEscape                    // the character after a backslash
	inHex                       // a digit of a \u escape
	inWord                      // a letter of a literal
	numberMinus                 // next: a digit
	numberZero                  // next: no further digit
	numberWhole                 // digits before the point
	numberPoint                 // next: a digit
	numberFraction              // digits after the point
	numberE                     // next: a sign or a digit
	numberSign                  // next: a digit
	numberExponent              // digits
)

// feed reads the next chunk and returns how many of its bytes belong to the value; done is true
// once the value has ended. A number at the top level ends with the byte after it. The error is
// ErrSyntax or ErrTooDeep.
func (f *follower) feed(p []byte) (n int, done bool, err error) {
	for i := 0; i < len(p); {
		c := p[i]
		switch {
		case f.state == inString:
			// Most bytes of an answer are here.
			if i = plain(p, i); i == len(p) {
				return i, false, nil
			}
			if c = p[i]; c < ' ' {
				return i, false, ErrSyntax
			}
			i++
			if c == '\\' {
				f.state = inEscape
				continue
			}
			if f.state = f.after; f.depth == 0 {
				return i, true, nil
			}
		case f.state > inString:
			var ended bool
			if i, ended, err = f.token(p, i); ended && f.depth == 0 || err != nil {
				return i, ended, err
			}
			if ended {
				f.state = f.after
			}
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			i++
		default:
			i++
			if done, err = f.structure(c); done || err != nil {
				return i, done, err
			}
		}
	}
	return len(p), false, nil
}

// structure reads a byte between tokens, or the first of a token.
func (f *follower) structure(c byte) (done bool, err error) {
	switch f.state {
	case wantItem:
		if c == ']' {
			return f.leave(), nil
		}
		return false, f.begin(c)
	case wantValue:
		return false, f.begin(c)
	case wantMember:
		if c == '}' {
			return f.leave(), nil
		}
		return false, f.name(c)
	case wantName:
		return false, f.name(c)
	case wantColon:
		if c != ':' {
			return false, ErrSyntax
		}
		f.state = wantValue
		return false, nil
	default:
		return f.separate(c)
	}
}

// separate reads the byte after a value.
func (f *follower) separate(c byte) (done bool, err error) {
	object := f.inObject()
	switch {
	case c == ',' && object:
		f.state = wantName
	case c == ',':
		f.state = wantValue
	case (c == '}' && object) || (c == ']' && !object):
		return f.leave(), nil
	default:
		return false, ErrSyntax
	}
	return false, nil
}

func (f *follower) name(c byte) error {
	if c != '"' {
		return ErrSyntax
	}
	f.state, f.after = inString, wantColon
	return nil
}

// begin reads the first byte of a value.
func (f *follower) begin(c byte) error {
	f.after = wantNext
	switch {
	case c == '"':
		f.state = inString
	case c == '{':
		return f.enter(wantMember, 1)
	case c == '[':
		return f.enter(wantItem, 0)
	case c == '-':
		f.state = numberMinus
	case c == '0':
		f.state = numberZero
	case isDigit(c):
		f.state = numberWhole
	case c == 't':
		f.state, f.word = inWord, "true"[1:]
	case c == 'f':
		f.state, f.word = inWord, "false"[1:]
	case c == 'n':
		f.state, f.word = inWord, "null"[1:]
	default:
		return ErrSyntax
	}
	return nil
}

func (f *follower) enter(s state, object uint64) error {
	if f.depth == MaxResponseDepth {
		return ErrTooDeep
	}
	at := f.depth % 64
	f.objects[f.depth/64] = f.objects[f.depth/64]&^(1<<at) | object<<at
	f.depth++
	f.state = s
	return nil
}

func (f *follower) leave() (done bool) {
	f.depth--
	f.state = wantNext
	return f.depth == 0
}

func (f *follower) inObject() bool {
	d := f.depth - 1
	return f.objects[d/64]>>(d%64)&1 == 1
}

// token continues an escape, a literal or a number from p[i] to its end or the end of the chunk.
// ended reports whether the value ended.
func (f *follower) token(p []byte, i int) (end int, ended bool, err error) {
	for i < len(p) && f.state > inString {
		if f.state < numberMinus {
			if ended, err = f.letter(p[i]); err != nil {
				return i, false, err
			}
			if i++; ended {
				return i, true, nil
			}
			continue
		}
		if whole(f.state) && f.state != numberZero {
			if i = digits(p, i); i == len(p) {
				return i, false, nil
			}
		}
		next, ok := afterNumber(f.state, p[i])
		switch {
		case ok:
			f.state = next
			i++
		case whole(f.state):
			return i, true, nil
		default:
			return i, false, ErrSyntax
		}
	}
	return i, false, nil
}

// letter reads a byte of an escape or a literal; ended is true after a literal's last byte.
func (f *follower) letter(c byte) (ended bool, err error) {
	switch f.state {
	case inEscape:
		switch c {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			f.state = inString
		case 'u':
			f.state, f.hex = inHex, 4
		default:
			return false, ErrSyntax
		}
	case inHex:
		if !isHex(c) {
			return false, ErrSyntax
		}
		if f.hex--; f.hex == 0 {
			f.state = inString
		}
	default:
		if c != f.word[0] {
			return false, ErrSyntax
		}
		f.word = f.word[1:]
		return f.word == "", nil
	}
	return false, nil
}

// afterNumber returns the state after c in a number; false when c does not belong to it.
func afterNumber(s state, c byte) (state, bool) {
	switch {
	case isDigit(c):
		return afterDigit(s, c)
	case c == '.':
		return numberPoint, s == numberZero || s == numberWhole
	case c == 'e' || c == 'E':
		return numberE, s == numberZero || s == numberWhole || s == numberFraction
	case c == '+' || c == '-':
		return numberSign, s == numberE
	}
	return s, false
}

func afterDigit(s state, c byte) (state, bool) {
	switch {
	case s == numberMinus && c == '0':
		return numberZero, true
	case s == numberMinus || s == numberWhole:
		return numberWhole, true
	case s == numberPoint || s == numberFraction:
		return numberFraction, true
	}
	return numberExponent, s >= numberE
}

// whole reports whether a number may end in this state.
func whole(s state) bool {
	return s == numberZero || s == numberWhole || s == numberFraction || s == numberExponent
}
