package assets

import (
	"net/http"
	"strconv"
	"strings"
)

// AcceptsGzip reports whether a client accepts gzip and does not prefer an uncompressed answer (RFC
// 9110, section 12.5.3).
func AcceptsGzip(h http.Header) bool {
	compressed, plain, rest := -1, -1, -1
	for _, line := range h["Accept-Encoding"] {
		for item := range strings.SplitSeq(line, ",") {
			coding, parameters, _ := strings.Cut(item, ";")
			q, ok := quality(parameters)
			if !ok {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				compressed = max(compressed, q)
			case "identity":
				plain = q
			case "*":
				rest = q
			}
		}
	}
	if compressed < 0 {
		compressed = rest
	}
	return compressed > 0 && compressed >= plain
}

// quality parses the weight of a coding in thousandths (RFC 9110, section 12.4.2). It returns false
// when the weight is malformed.
func quality(parameters string) (thousandths int, ok bool) {
	name, value, found := strings.Cut(strings.TrimSpace(parameters), "=")
	if !found {
		return 1000, name == ""
	}
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 0, false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(q >= 0 && q <= 1) { // rejects NaN too
		return 0, false
	}
	return int(q * 1000), true
}
