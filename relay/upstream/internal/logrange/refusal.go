package logrange

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Kind is what an upstream refused about an eth_getLogs call.
type Kind uint8

// The kinds of refusals.
const (
	Other   Kind = iota // the filter, whatever its range is
	Blocks              // the number of blocks
	Results             // the number or the size of the logs, so that a shorter range may pass
)

// Refusal is what an upstream's refusal says.
type Refusal struct {
	Kind Kind
	// Limit is the number of blocks that the upstream takes, for Blocks; less than what was asked
	// for. Stated reports whether the upstream named it, and not just refused.
	Limit  uint64
	Stated bool
}

// maxText bounds how much of a message and of its data is read.
const maxText = 4 << 10

// number is a whole number with or without separators, and k for thousand.
const number = `(\d[\d,.]*) ?(k?)\b`

// limits find the number of blocks in published wordings. testdata of package rules has them.
var limits = []*regexp.Regexp{
	regexp.MustCompile(`up to an? ` + number + ` blocks? range`),
	regexp.MustCompile(`limited to (?:an? )?(?:0 ?- ?)?` + number + `(?: blocks?)? range`),
	regexp.MustCompile(`max(?:imum)? block range(?: of| =|:)? ?` + number),
	regexp.MustCompile(`blocks distance:? ` + number),
	regexp.MustCompile(`ranges over ` + number + ` blocks`),
	regexp.MustCompile(`\(\d+ > ` + number + `\)`),
	regexp.MustCompile(`max is ` + number + ` blocks`),
	regexp.MustCompile(`max(?: range)?: ` + number),
	regexp.MustCompile(`requested blocks is ` + number),
	regexp.MustCompile(`at most ` + number + ` blocks`),
	regexp.MustCompile(`block range exceeds ` + number),
	regexp.MustCompile(`\(maximum ` + number + `\)`),
	regexp.MustCompile(`maximum is set to ` + number),
	regexp.MustCompile(`limit is ` + number),
	regexp.MustCompile(`smaller than size ` + number),
	regexp.MustCompile(`maximum allowed is ` + number),
	regexp.MustCompile(`exceeds the range of ` + number),
	regexp.MustCompile(`range(?: \d+)? exceeds limit of ` + number),
	regexp.MustCompile(`limit of ` + number + ` blocks`),
	regexp.MustCompile(`range greater than ` + number + ` max`),
}

// suggestion is the range that several providers propose.
var suggestion = regexp.MustCompile(`range should work: \[0x([0-9a-f]{1,16}), ?0x([0-9a-f]{1,16})\]`)

// resultWords are in refusals that depend on the logs, otherWords in those that no range passes.
var (
	resultWords = []string{
		"returned more than", "returns logs over more", "max results", "too many results", "too many logs",
		"logs matched by query", "number of logs", "response size", "response too large", "response is too big",
		"query exceeds limit", "timeout exceeded", "try paginating", "try with this block range",
	}
	otherWords = []string{
		"address", "filters. the current limit", "topics per", "range of parameters", "must be specified when",
	}
)

// ReadRefusal reads the error object of a refusal. asked is the number of blocks that were asked
// for, at least 1. Without a stated limit the upstream is taken to accept half of that.
func ReadRefusal(object []byte, asked uint64) Refusal {
	text := textOf(object)
	switch {
	case containsAny(text, resultWords), strings.HasPrefix(text, "limit exceeded"):
		return Refusal{Kind: Results}
	case containsAny(text, otherWords), asked <= 1:
		return Refusal{Kind: Other}
	}
	switch stated := statedLimit(text); {
	case stated == 0 || stated > asked: // no number, or one that is not about this call
		return Refusal{Kind: Blocks, Limit: asked / 2}
	case stated == asked: // nodes count differently: to - from, or blocks
		return Refusal{Kind: Blocks, Limit: asked - 1, Stated: true}
	default:
		return Refusal{Kind: Blocks, Limit: stated, Stated: true}
	}
}

// textOf returns the message and the data of an error, in lower case.
func textOf(object []byte) string {
	var e struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(object, &e) != nil {
		return ""
	}
	data := bytes.TrimPrefix(e.Data, []byte("null"))
	data = bytes.ReplaceAll(data[:min(len(data), maxText)], []byte(`\u003e`), []byte(">"))
	return strings.ToLower(e.Message[:min(len(e.Message), maxText)] + " " + string(data))
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// statedLimit returns the number of blocks that a refusal names, 0 if it names none.
func statedLimit(text string) uint64 {
	for _, wording := range limits {
		if m := wording.FindStringSubmatch(text); m != nil {
			if n := parseNumber(m[1], m[2] == "k"); n > 0 {
				return n
			}
		}
	}
	m := suggestion.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	from, err := strconv.ParseUint(m[1], 16, 64)
	to, err2 := strconv.ParseUint(m[2], 16, 64)
	if err != nil || err2 != nil || to < from || to-from == 1<<64-1 {
		return 0
	}
	return to - from + 1
}

// parseNumber returns 0 for what is not a number of blocks.
func parseNumber(digits string, thousands bool) uint64 {
	n, err := strconv.ParseUint(strings.NewReplacer(",", "", ".", "").Replace(digits), 10, 32)
	if err != nil {
		return 0
	}
	if thousands {
		n *= 1000
	}
	return n
}
