package upstream

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/chain"
)

// meaning is what an upstream's answer amounts to.
type meaning uint8

const (
	isAnswer      meaning = iota // results, reverts, the client's own mistakes: pass them on
	isRange                      // asked for more than this provider gives: another, else our own range refusal
	isBilling                    // the operator's plan with this provider is used up
	isThrottled                  // this provider limits the operator's rate
	isMissingData                // pruned, or not there yet: another node may have it
	isExecTimeout                // the node gave up on the execution
	isAbsent                     // the node does not have the method
	isDenied                     // the operator's credential is refused
	isBroken                     // no usable answer at all
)

// blame is what an answer says about the upstream that gave it.
type blame uint8

const (
	blameNobody blame = iota
	blameThrottle
	blameFailure
)

// verdict separates three questions: try another upstream, blame this one, and (by passOn) may its words reach the client when
// every other one said no better.
type verdict struct {
	meaning meaning
	another bool
	blame   blame
	passOn  bool
}

var verdicts = [...]verdict{
	isAnswer:      {isAnswer, false, blameNobody, true},
	isRange:       {isRange, true, blameNobody, false},
	isBilling:     {isBilling, true, blameFailure, false},
	isThrottled:   {isThrottled, true, blameThrottle, false},
	isMissingData: {isMissingData, true, blameNobody, true},
	isExecTimeout: {isExecTimeout, true, blameNobody, true},
	isAbsent:      {isAbsent, true, blameNobody, false},
	isDenied:      {isDenied, true, blameFailure, false},
	isBroken:      {isBroken, true, blameFailure, false},
}

// pattern matches an error message, case-insensitively.
type pattern struct {
	meaning meaning
	words   []string
}

// patterns are matched in this order; the first that matches wins. What providers say, and what it means, was collected from
// their public nodes and documentation.
var patterns = []pattern{
	{isRange, []string{
		"block range is too wide", "range too large", "max block range", "exceeds the range", "logs over more", "returned more than",
		"exceeds max results", "response too large", "query exceeds limit", "limit the query to", "too many results", "try paginating",
		"eth_getlogs is limited", "is too big",
	}},
	{isAnswer, []string{"sender is over rate limit"}}, // the sequencer limits the sender, not us
	{isBilling, []string{"reached the free tier", "monthly capacity limit", "limit for your current plan"}},
	{isThrottled, []string{
		"has exceeded", "exceeded the quota", "too many requests", "under too much load", "rate limit", "limit exceeded",
	}},
	{isMissingData, []string{
		"block tag", "missing trie node", "header not found", "unknown block", "block not found", "no state available",
		"historical state", "history has been pruned", "greater than latest",
	}},
	{isExecTimeout, []string{"execution timeout"}},
	{isAnswer, []string{"execution reverted", "vm execution error", "out of gas", "invalid opcode"}},
	{isAnswer, []string{"already known", "known transaction", "already imported", "already in mempool"}},
	{isAnswer, []string{"nonce too low", "replacement transaction underpriced", "insufficient funds"}},
	{isAbsent, []string{"method not found", "does not exist/is not available", "not supported", "unsupported method"}},
	{isDenied, []string{"invalid api key"}},
}

// solanaRetry are Solana's codes for which another node may have the answer: behind, block not available, slot skipped or
// cleaned up, ledger jump, long-term storage.
var solanaRetry = map[int]bool{
	-32001: true, -32004: true, -32005: true, -32007: true, -32008: true, -32009: true, -32010: true, -32011: true, -32012: true,
	-32014: true, -32016: true, -32019: true,
}

var solanaAnswers = map[int]bool{
	-32002: true, -32003: true, -32006: true, -32013: true, -32015: true, -32017: true, -32018: true, -32602: true,
}

const (
	codeMethodAbsent  = -32601
	codeInvalidParams = -32602
)

// classifyStatus judges an answer by its HTTP status alone; isAnswer means that the body decides.
func classifyStatus(status int) verdict {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return verdicts[isDenied]
	case status == http.StatusPaymentRequired:
		return verdicts[isBilling]
	case status == http.StatusTooManyRequests:
		return verdicts[isThrottled]
	case status >= 500 || (status >= 300 && status < 400):
		return verdicts[isBroken]
	}
	return verdicts[isAnswer]
}

// classifyError judges a well-formed JSON-RPC error object.
func classifyError(family chain.Family, object []byte) verdict {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(object, &e) != nil {
		return verdicts[isBroken]
	}
	if family == chain.Solana {
		switch {
		case solanaRetry[e.Code]:
			return verdicts[isMissingData]
		case solanaAnswers[e.Code]:
			return verdicts[isAnswer]
		}
	}
	message := strings.ToLower(e.Message)
	for _, p := range patterns {
		for _, words := range p.words {
			if strings.Contains(message, words) {
				return verdicts[p.meaning].given(e.Code)
			}
		}
	}
	if e.Code == codeMethodAbsent {
		return verdicts[isAbsent]
	}
	return verdicts[isAnswer]
}

// given corrects a verdict by the code: an invalid parameter is the client's, whatever words explain it.
func (v verdict) given(code int) verdict {
	if v.meaning == isAbsent && code == codeInvalidParams {
		return verdicts[isAnswer]
	}
	return v
}
