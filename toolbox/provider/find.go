package provider

import (
	"slices"
	"strings"
)

// Addresses are found without regular expressions: a text of 20,000 characters takes microseconds
// instead of milliseconds.

// noAddress are bytes that no address contains.
const noAddress = " \t\r\n\f\v\"'`<>(){}[],;|\\"

// unescape removes JSON escapes of slashes, colons and ampersands. It keeps the line numbers.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return strings.NewReplacer(`\/`, "/", `\u002f`, "/", `\u002F`, "/", `\u003a`, ":", `\u003A`, ":", `\u0026`,
		"&").Replace(text)
}

// findURLs finds addresses from left to right: those with a scheme, and those without if the host
// is a provider's or names a network.
func findURLs(text string) []span {
	spans := withScheme(text)
	spans = append(spans, withoutScheme(text, spans)...)
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	return spans
}

func withScheme(text string) []span {
	var spans []span
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return spans
		}
		i += at
		at = i + len("://")
		scheme := 0
		for scheme < 6 && i-scheme > 0 && isWord(text[i-scheme-1]) {
			scheme++
		}
		from := i
		for _, known := range []string{"https", "http", "wss", "ws"} {
			if len(known) <= scheme && strings.EqualFold(text[i-len(known):i], known) {
				from = i - len(known)
				break
			}
		}
		to := endOf(text, at)
		if from == i || to == at {
			continue
		}
		spans = append(spans, span{from, trimEnd(text, from, to)})
		at = to
	}
}

// endOf returns the end of the address whose rest starts at text[at:].
func endOf(text string, at int) int {
	for at < len(text) {
		if n := placeholderAt(text[at:]); n > 0 {
			at += n
			continue
		}
		if strings.IndexByte(noAddress, text[at]) >= 0 {
			break
		}
		at++
	}
	return at
}

// trimEnd removes punctuation of the surrounding sentence.
func trimEnd(text string, from, to int) int {
	return from + len(strings.TrimRight(text[from:to], ".:!?*&="))
}

// withoutScheme finds hosts that are alone or followed by a path.
func withoutScheme(text string, taken []span) []span {
	var spans []span
	at, next := 0, 0
	for {
		i := strings.IndexByte(text[at:], '.')
		if i < 0 {
			return spans
		}
		i += at
		at = i + 1
		for next < len(taken) && taken[next].to <= i {
			next++
		}
		if next < len(taken) && i >= taken[next].from {
			at = max(at, taken[next].to)
			continue
		}
		from, to := i, i
		for from > 0 && isHost(text[from-1]) {
			from--
		}
		for to < len(text) && isHost(text[to]) {
			to++
		}
		at = max(at, to)
		if !standsForHost(text, from, to) {
			continue
		}
		end := to
		if to < len(text) && strings.IndexByte("/?:", text[to]) >= 0 {
			end = endOf(text, to)
		}
		if next < len(taken) { // an address ends where the next one begins: spans never overlap
			end = min(end, taken[next].from)
		}
		spans = append(spans, span{from, trimEnd(text, from, end)})
		at = max(at, end)
	}
}

func isHost(c byte) bool { return isWord(c) && c != '_' || c == '-' || c == '.' }

// files are the extensions of file names that look like hosts.
var files = words("js ts tsx jsx mjs cjs json sol py toml yaml yml env md txt lock sh rs go html css")

// standsForHost reports whether a dotted name without a scheme is an address: it has a known form,
// or it is a whole value and its host names a network.
func standsForHost(text string, from, to int) bool {
	if from > 0 && text[from-1] == '/' { // part of a path, or after an unknown scheme
		return false
	}
	host := strings.ToLower(strings.Trim(text[from:to], ".-"))
	if f, _ := formOf(host); f != nil {
		return true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if len(last) < 2 || strings.Trim(last, "abcdefghijklmnopqrstuvwxyz") != "" || files[last] || isPage(host) {
		return false
	}
	if from == 0 || strings.IndexByte("\"'`=", text[from-1]) < 0 ||
		to < len(text) && strings.IndexByte("\"'`/?:\r\n", text[to]) < 0 {
		return false
	}
	_, name := guess(&parts{host: host})
	return name != ""
}

// isPage reports whether a host serves pages for people.
func isPage(host string) bool {
	first, _, _ := strings.Cut(host, ".")
	switch first {
	case "docs", "www", "explorer", "blog", "help", "support", "status", "github", "medium", "npmjs":
		return true
	}
	for label := range strings.SplitSeq(host, ".") {
		if strings.HasSuffix(label, "scan") || label == "blockscout" {
			return true
		}
	}
	return false
}

// endpointWords are words in the names of keys and variables that hold endpoints. The first is a
// weaker sign than the others.
var endpointWords = []string{"url", "rpc", "provider", "node", "endpoint", "transport"}

// telling is how strongly the text before an address suggests an endpoint.
type telling uint8

const (
	silent telling = iota
	some           // a key with url
	surely
)

// maxBefore is how far before an address its key is searched, in bytes.
const maxBefore = 160

// keyOf judges the text before an address: the rest of its line, or the line before if there are no
// letters. Further addresses of a list inherit the result of the first.
func keyOf(text string, after, from int, before telling) telling {
	start := max(after, from-maxBefore)
	gap := text[start:from]
	if after > 0 && start == after && !hasLetters(gap) {
		return before
	}
	line := gap[strings.LastIndexByte(gap, '\n')+1:]
	if !hasLetters(strings.ReplaceAll(line, "http(", "")) {
		rest := strings.TrimRight(gap[:len(gap)-len(line)], " \t\r\n")
		line = rest[strings.LastIndexByte(rest, '\n')+1:]
	}
	line = strings.ToLower(line)
	found := silent
	for i, word := range endpointWords {
		if strings.Contains(line, word) {
			found = max(found, telling(min(i+1, 2))) //nolint:gosec // one or two
		}
	}
	return found
}

func hasLetters(s string) bool {
	for i := range len(s) {
		if isLetter(s[i]) {
			return true
		}
	}
	return false
}
