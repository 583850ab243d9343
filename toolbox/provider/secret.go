package provider

import (
	"slices"
	"strings"
)

// secrets counts what must not be in the text.
func (r *Reading) secrets(text string, spans []span, named []mention) {
	for i := range r.Endpoints {
		r.Secrets.Credentials += r.Endpoints[i].credentials
	}
	for i := range named {
		spans = append(spans, named[i].span)
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	rest := without(text, spans) // what is in an address or in arguments is counted there
	for line := range strings.SplitSeq(rest, "\n") {
		r.Secrets.ofLine(line)
	}
	r.Secrets.PrivateKeys += byteArrays(rest) + keyBlocks(rest)
	r.Secrets.Credentials += assignedKeys(rest)
}

// keyBlocks counts PEM keys by their first lines.
func keyBlocks(text string) int {
	found := 0
	for i, part := range strings.Split(text, "-----BEGIN ") {
		kind, _, ok := strings.Cut(part[:min(len(part), 60)], "PRIVATE KEY-----")
		if i > 0 && ok && strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ") == "" {
			found++
		}
	}
	return found
}

// without returns a text with the spans blanked; they may overlap.
func without(text string, spans []span) string {
	var b strings.Builder
	from := 0
	for _, s := range spans {
		if s.from >= from {
			b.WriteString(text[from:s.from])
			b.WriteByte(' ')
		}
		from = max(from, s.to)
	}
	b.WriteString(text[from:])
	return b.String()
}

// ofLine counts private keys and mnemonics, in one pass over the words of a line.
func (s *Secrets) ofLine(line string) {
	hexes, row, gap := 0, 0, 0 // row is the number of consecutive words that may be a mnemonic's
	long := false
	end := func() {
		const short, most = 12, 24
		if row >= short && (long || namesPhrase(line)) {
			long = true
			s.Mnemonics += row / most
			if row%most >= short {
				s.Mnemonics++
			}
		}
		row = 0
	}
	for i := 0; i < len(line); {
		n := wordLen(line[i:])
		if n == 0 {
			i++
			continue
		}
		word := line[i : i+n]
		if row > 0 && strings.Trim(line[gap:i], " \t") != "" {
			end()
		}
		if n >= 3 && n <= 8 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			row++
		} else {
			end()
		}
		switch {
		case isHex64(word):
			hexes++
		case n >= 86 && n <= 88 && strings.Trim(word, base58) == "":
			s.PrivateKeys++
		}
		i += n
		gap = i
	}
	end()
	if hexes > 0 && namesKey(line) {
		s.PrivateKeys += hexes
	}
}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func isHex64(word string) bool {
	if len(word) == 66 && word[0] == '0' && word[1]|0x20 == 'x' {
		word = word[2:]
	}
	return len(word) == 64 && strings.Trim(word, "0123456789abcdefABCDEF") == ""
}

// namesKey reports whether a line suggests that 64 hexadecimal digits are a key rather than a hash.
func namesKey(line string) bool {
	return containsAny(strings.ToLower(line), "priv", "secret", "account", "deployer", "signer", "wallet", "_pk", "pk=",
		"pk:", "pk ", "mnemonic", "owner", "key")
}

// namesPhrase distinguishes a mnemonic from prose: by its name, or because it is a value.
func namesPhrase(line string) bool {
	if containsAny(strings.ToLower(line), "mnemonic", "seed", "phrase", "recovery", "words") {
		return true
	}
	for i := range len(line) {
		if strings.IndexByte("\"'=`", line[i]) < 0 {
			continue
		}
		rest := strings.TrimLeft(line[i+1:], " \t")
		n := 0
		for range 3 {
			word := wordLen(rest)
			if word < 3 || word > 8 || word == len(rest) || rest[word] != ' ' ||
				strings.Trim(rest[:word], "abcdefghijklmnopqrstuvwxyz") != "" {
				break
			}
			rest = rest[word+1:]
			n++
		}
		if n == 3 {
			return true
		}
	}
	return false
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// byteArrays counts arrays of 64 numbers, the format of keys of Solana wallets.
func byteArrays(text string) int {
	found := 0
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '[')
		if i < 0 {
			return found
		}
		at += i + 1
		numbers, length := 0, 0
		for at < len(text) && strings.IndexByte("0123456789, \t\r\n", text[at]) >= 0 {
			if isDigit(text[at]) {
				length++
			} else if length > 0 {
				numbers, length = numbers+1, 0
			}
			at++
		}
		if length > 0 {
			numbers++
		}
		if numbers == 64 && at < len(text) && text[at] == ']' {
			found++
		}
	}
}

// keyNames are names of credentials, in lower case. A credential counts once, even if several names
// lead to it.
var keyNames = []string{
	"api_key", "api-key", "apikey", "secret", "token", "password", "passwd", "bearer", "authorization", "dkey",
	"project_id", "project-id", "projectid", "access_key", "access-key", "accesskey",
}

const leastCredential = 16 // characters

// assignedKeys counts values with such names.
func assignedKeys(text string) int {
	lower := asciiLower(text)
	found := map[int]bool{}
	for _, name := range keyNames {
		for at := 0; ; {
			i := strings.Index(lower[at:], name)
			if i < 0 {
				break
			}
			at += i + len(name)
			from := valueAt(lower, at)
			to := from
			for to < len(text) && (isWord(text[to]) || strings.IndexByte("-.+/=", text[to]) >= 0) {
				if to-from > 4*leastCredential { // long enough, whatever follows
					break
				}
				to++
			}
			if value := text[from:to]; to-from >= leastCredential && keyLike(value) && !isHex64(value) {
				found[from] = true
			}
		}
	}
	return len(found)
}

// asciiLower keeps the position of every byte, which strings.ToLower does not.
func asciiLower(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	return string(lower)
}

// valueAt returns where a value begins after a name: after quotes, spaces, an assignment and the
// word before a token.
func valueAt(lower string, at int) int {
	skip := func(set string, limit int) {
		for ; limit > 0 && at < len(lower) && strings.IndexByte(set, lower[at]) >= 0; limit-- {
			at++
		}
	}
	skip("\"'", 1)
	skip(" \t", 8)
	skip(":=", 1)
	skip(" \t", 8)
	skip("\"'`", 1)
	for _, word := range []string{"bearer ", "basic "} {
		if strings.HasPrefix(lower[at:], word) {
			at += len(word)
		}
	}
	return at
}
