package upstream

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// meaning is what an upstream's answer amounts to.
type meaning uint8

const (
	isAnswer      meaning = iota // results, reverts, the client's own mistakes: pass them on
	isRange                      // asked for more than this provider gives: another, else our own range refusal
	isPlan                       // the operator's plan with this provider does not have it
	isBilling                    // the operator's plan with this provider is used up
	isThrottled                  // this provider limits the operator's rate
	isMissingData                // pruned, or not there yet: another node may have it
	isExecTimeout                // the node gave up on the execution
	isAbsent                     // the node does not have the method
	isUnsupported                // the node does not take something about the call; another one may
	isDenied                     // the operator's credential is refused
	isNullID                     // an error under id null, in words that only an answer to this very call may say
	isBroken                     // an answer that cannot be used
	isUnreachable                // no answer
)

// blame is what an answer says about the upstream that gave it.
type blame uint8

const (
	blameNobody blame = iota
	blameThrottle
	blameFailure
)

// verdict separates three questions: try another upstream, blame this one, and (by passOn) may its
// words reach the client when every other one said no better.
type verdict struct {
	meaning meaning
	another bool
	blame   blame
	passOn  bool
}

var verdicts = [...]verdict{
	isAnswer:      {isAnswer, false, blameNobody, true},
	isRange:       {isRange, true, blameNobody, false},
	isPlan:        {isPlan, true, blameNobody, false},
	isBilling:     {isBilling, true, blameFailure, false},
	isThrottled:   {isThrottled, true, blameThrottle, false},
	isMissingData: {isMissingData, true, blameNobody, true},
	isExecTimeout: {isExecTimeout, true, blameNobody, true},
	isAbsent:      {isAbsent, true, blameNobody, false},
	isUnsupported: {isUnsupported, true, blameNobody, true},
	isDenied:      {isDenied, true, blameFailure, false},
	isNullID:      {isNullID, true, blameNobody, false},
	isBroken:      {isBroken, true, blameFailure, false},
	isUnreachable: {isUnreachable, true, blameFailure, false},
}

// tooLarge is the verdict on an answer that announces more than our own bound. Another upstream is
// asked, because a length may be a lie; nothing of the answer was read.
var tooLarge = verdict{isRange, true, blameNobody, false}

// pattern matches an error message, case-insensitively.
type pattern struct {
	rank    rank
	meaning meaning
	words   []string // in lower case
}

// rank orders what an answer shows: the lowest decides. A status that says "not now" is outranked
// by words that say why.
type rank int

const (
	rankDenied rank = iota // HTTP 401, 403 and redirects outrank the body
	rankRange
	rankSender
	rankPlan
	rankBilling
	rankThrottled
	rankData
	rankExecution
	rankRevert
	rankKnown
	rankNonce
	rankAbsent
	rankOther
	rankServerError
	rankNothing
)

// patterns are matched in this order; the first that matches wins. What providers say, and what it
// means, was collected from their public nodes and documentation.
var patterns = []pattern{
	{rankRange, isRange, []string{
		"block range is too wide", "range too large", "max block range", "exceeds the range", "logs over more",
		"returned more than", "exceeds max results", "response too large", "query exceeds limit", "limit the query to",
		"too many results", "try paginating", "eth_getlogs is limited", "is too big", "range is too large",
		"maximum block range", "block range limit", "block range should work", "blocks range", "ranges over",
		"too many blocks", "response size exceeded",
	}},
	{rankSender, isAnswer, []string{"sender is over rate limit"}}, // the sequencer limits the sender, not us
	{rankPlan, isPlan, []string{
		"on the free tier", "on freetier", "on free tier", "on the free plan", "on your plan", "in your plan",
		"on your current plan", "upgrade your plan",
	}},
	{rankBilling, isBilling, []string{
		"reached the free tier", "monthly capacity limit", "limit for your current plan",
	}},
	{rankThrottled, isThrottled, []string{
		"has exceeded", "exceeded the quota", "too many requests", "under too much load", "rate limit",
		"limit exceeded", "request rate exceeded",
	}},
	{rankData, isMissingData, []string{
		"block tag", "missing trie node", "header not found", "unknown block", "block not found", "no state available",
		"historical state", "history has been pruned", "greater than latest", "is pruned",
	}},
	{rankExecution, isExecTimeout, []string{"execution timeout", "execution aborted (timeout", "request timed out"}},
	{rankRevert, isAnswer, revertWords},
	{rankKnown, isAnswer, []string{"already known", "known transaction", "already imported", "already in mempool"}},
	{rankNonce, isAnswer, []string{"nonce too low", "replacement transaction underpriced", "insufficient funds"}},
	{rankAbsent, isAbsent, []string{
		"method not found", "does not exist/is not available", "unsupported method", notSupported,
	}},
	{rankOther, isDenied, []string{"invalid api key"}},
}

// revertWords open the message of a revert or a halt. What follows them is the contract's own text:
// it may say anything.
var revertWords = []string{"execution reverted", "vm execution error", "out of gas", "invalid opcode"}

const notSupported = "not supported"

// solanaRetry are Solana's codes for which another node may have the answer: behind, block not
// available, slot skipped or cleaned up, ledger jump, long-term storage.
var solanaRetry = map[int]bool{
	-32001: true, -32004: true, -32005: true, -32007: true, -32008: true, -32009: true, -32010: true, -32011: true,
	-32012: true, -32014: true, -32016: true, -32019: true,
}

var solanaAnswers = map[int]bool{
	-32002: true, -32003: true, -32006: true, -32013: true, -32015: true, -32017: true, -32018: true, -32602: true,
}

const (
	codeMethodAbsent       = -32601
	codeMethodNotSupported = -32004 // EIP-1474
	codeInvalidParams      = -32602
)

// classifyStatus judges an answer by its HTTP status alone; rankNothing leaves it to the body.
func classifyStatus(status int) (verdict, rank) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return verdicts[isDenied], rankDenied
	case status >= 300 && status < 400:
		return verdicts[isBroken], rankDenied
	case status == http.StatusPaymentRequired:
		return verdicts[isBilling], rankBilling
	case status == http.StatusTooManyRequests:
		return verdicts[isThrottled], rankThrottled
	case status == http.StatusRequestEntityTooLarge: // ours are no larger than what clients may send
		return verdicts[isUnsupported], rankServerError
	case status >= 500:
		return verdicts[isBroken], rankServerError
	}
	return verdicts[isAnswer], rankNothing
}

// classifyError judges a well-formed JSON-RPC error object. asked is the request: words of it say
// nothing, for a node that repeats a parameter must not be taken to speak for itself.
func classifyError(family chain.Family, object, asked []byte) (verdict, rank) {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(object, &e) != nil {
		return verdicts[isBroken], rankServerError
	}
	if family == chain.Solana {
		switch {
		case solanaRetry[e.Code]:
			return verdicts[isMissingData], rankData
		case solanaAnswers[e.Code]:
			return verdicts[isAnswer], rankRevert
		}
	}
	message := strings.ToLower(e.Message)
	if slices.ContainsFunc(revertWords, func(words string) bool { return strings.HasPrefix(message, words) }) {
		return verdicts[isAnswer], rankRevert
	}
	if p, words := match(message, asked); p != nil {
		return verdicts[p.meaning.given(e.Code, message, words)], p.rank
	}
	switch e.Code {
	case codeMethodAbsent:
		return verdicts[isAbsent], rankAbsent
	case codeInvalidParams:
		return verdicts[isAnswer], rankOther
	}
	return verdicts[isAnswer], rankNothing
}

// match finds the first pattern with words that are in the message and not in the request; nil when
// there is none.
func match(message string, asked []byte) (*pattern, string) {
	folded := false
	for i := range patterns {
		for _, words := range patterns[i].words {
			if !strings.Contains(message, words) {
				continue
			}
			if !folded {
				asked, folded = fold(asked), true // only when an upstream has something to say
			}
			if !bytes.Contains(asked, []byte(words)) {
				return &patterns[i], words
			}
		}
	}
	return nil, ""
}

// given corrects what the words say: an invalid parameter is the client's, whatever explains it,
// and not everything that a node does not support is the method.
func (m meaning) given(code int, message, words string) meaning {
	switch {
	case m != isAbsent || code == codeMethodAbsent || code == codeMethodNotSupported:
		return m
	case code == codeInvalidParams:
		return isAnswer
	case words == notSupported && !strings.Contains(message, "method") && !strings.Contains(message, "_"):
		return isUnsupported
	}
	return m
}
