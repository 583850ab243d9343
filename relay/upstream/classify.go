package upstream

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// meaning is the class of an upstream's answer.
type meaning uint8

const (
	isAnswer      meaning = iota // results, reverts, the client's own mistakes: passed on
	isRange                      // more than this provider allows: ask another, else our own range refusal
	isPlan                       // the operator's plan with this provider excludes it
	isBilling                    // the operator's plan with this provider is exhausted
	isThrottled                  // this provider rate limits the operator
	isMissingData                // pruned, or not there yet: another node may have it
	isExecTimeout                // the node gave up on the execution
	isAbsent                     // the node does not have the method
	isUnsupported                // the node rejects some part of the call; another may accept it
	isDenied                     // the operator's credential was refused
	isNodeFailure                // the node failed by itself, whatever it was asked; another may answer
	isNullID                     // an error with id null, in words that only the answer to this very call may use
	isBroken                     // an unusable answer
	isUnreachable                // no answer
)

// blame is what an answer counts as in the upstream's health.
type blame uint8

const (
	blameNobody blame = iota
	blameThrottle
	blameFailure
)

// verdict answers three questions: whether to try another upstream, whether to blame this one, and
// (passOn) whether the client may see its error if no other upstream does better.
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
	isNodeFailure: {isNodeFailure, true, blameNobody, false},
	isNullID:      {isNullID, true, blameNobody, false},
	isBroken:      {isBroken, true, blameFailure, false},
	isUnreachable: {isUnreachable, true, blameFailure, false},
}

// tooLarge is the verdict on an answer that announces a length above our own limit, of which
// nothing was read. Another upstream is asked, because the length may be wrong.
var tooLarge = verdict{isRange, true, blameNobody, false}

// pattern matches an error message, case-insensitively.
type pattern struct {
	rank    rank
	meaning meaning
	words   []string // in lower case
}

// rank orders the signs in an answer: the lowest decides. Words that give a reason come before a
// status that only says "not now".
type rank int

const (
	rankDenied rank = iota // HTTP 401, 403 and redirects come before the body
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

// patterns are matched in this order; the first match wins. The phrases and their meanings were
// collected from providers' public nodes and documentation.
var patterns = []pattern{
	{rankRange, isRange, []string{
		"block range is too wide", "range too large", "max block range", "exceeds the range", "logs over more",
		"returned more than", "exceeds max results", "response too large", "query exceeds limit", "limit the query to",
		"too many results", "try paginating", "eth_getlogs is limited", "is too big", "range is too large",
		"maximum block range", "block range limit", "block range should work", "blocks range", "ranges over",
		"too many blocks", "response size exceeded", "rpc range limit", "blocks distance", "too many logs requested",
		"specify an address", "query timeout exceeded",
	}},
	{rankSender, isAnswer, []string{"sender is over rate limit"}}, // the sequencer limits the sender, not us
	{rankPlan, isPlan, []string{
		"on the free tier", "on freetier", "on free tier", "on the free plan", "on your plan", "in your plan",
		"on your current plan", "in your current plan", "upgrade your plan",
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
		"historical state", "history has been pruned", "greater than latest", "is pruned", "pruned history",
		"due to pruning", "no historical rpc", "metadata is not found", "beyond current head",
	}},
	{rankExecution, isExecTimeout, []string{"execution timeout", "execution aborted (timeout", "request timed out"}},
	{rankRevert, isAnswer, revertWords},
	{rankKnown, isAnswer, []string{"already known", "known transaction", "already imported", "already in mempool"}},
	{rankNonce, isAnswer, []string{"nonce too low", "replacement transaction underpriced", "insufficient funds"}},
	{rankAbsent, isAbsent, []string{
		"method not found", "does not exist/is not available", "unsupported method", notSupported,
	}},
	{rankOther, isDenied, []string{"invalid api key", "api key disabled"}},
	{rankOther, isNodeFailure, []string{
		"internal error", "internal server error", "internal json-rpc error", "no backend",
	}},
}

// revertWords begin the message of a revert or a halt. What follows them is the contract's own text
// and may say anything.
var revertWords = []string{"execution reverted", "vm execution error", "out of gas", "invalid opcode"}

const notSupported = "not supported"

// solanaRetry are Solana's error codes for which another node may have the answer: node behind,
// block not available, slot skipped or cleaned up, ledger jump, long-term storage.
var solanaRetry = map[int]bool{
	-32001: true, -32004: true, -32005: true, -32007: true, -32008: true, -32009: true, -32010: true, -32011: true,
	-32012: true, -32014: true, -32016: true, -32019: true,
}

var solanaAnswers = map[int]bool{
	-32002: true, -32003: true, -32006: true, -32013: true, -32015: true, -32017: true, -32018: true, -32602: true,
}

// Codes that decide before words do.
const (
	codePrunedHistory = 4444 // EIP-4444 nodes (execution-apis)
	// eth_simulateV1 refuses calls with codes of its own (execution-apis), whose words would read
	// as limits of the provider.
	maxSimulateCode = -38010
	minSimulateCode = -38026
)

const (
	codeMethodAbsent       = -32601
	codeMethodNotSupported = -32004 // EIP-1474
	codeInvalidParams      = -32602
)

// classifyStatus judges an answer by its HTTP status alone; rankNothing means that the body
// decides.
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
	case status == http.StatusRequestEntityTooLarge: // our requests are no larger than what clients may send
		return verdicts[isUnsupported], rankServerError
	case status >= 500:
		return verdicts[isBroken], rankServerError
	}
	return verdicts[isAnswer], rankNothing
}

// classifyError judges a well-formed JSON-RPC error object. asked is the request; words that appear
// in it are ignored, because a node may only be repeating a parameter.
func classifyError(family chain.Family, object, asked []byte) (verdict, rank) {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
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
	if family == chain.EVM {
		switch {
		case e.Code == codePrunedHistory:
			return verdicts[isMissingData], rankData
		case e.Code <= maxSimulateCode && e.Code >= minSimulateCode:
			return verdicts[isAnswer], rankRevert
		}
	}
	message := strings.ToLower(e.Message)
	if slices.ContainsFunc(revertWords, func(words string) bool { return strings.HasPrefix(message, words) }) {
		return verdicts[isAnswer], rankRevert
	}
	if p, words := match(message, asked); p != nil {
		m := p.meaning.given(e.Code, message, words)
		if m == isNodeFailure && len(e.Data) > 0 && string(e.Data) != "null" {
			m = isAnswer // the data of a revert, which some nodes report so
		}
		return verdicts[m], p.rank
	}
	if strings.HasPrefix(message, "unauthorized") { // further on it may be a contract's word
		return verdicts[isDenied], rankOther
	}
	if traces(methodOf(asked)) && strings.Contains(message, "transaction not found") {
		return verdicts[isMissingData], rankData // a trace of it is kept by other nodes
	}
	switch e.Code {
	case codeMethodAbsent:
		return verdicts[isAbsent], rankAbsent
	case codeInvalidParams:
		return verdicts[isAnswer], rankOther
	}
	return verdicts[isAnswer], rankNothing
}

// traces reports whether a method reads traces, which nodes keep for different times.
func traces(method []byte) bool {
	return bytes.HasPrefix(method, []byte("debug_")) || bytes.HasPrefix(method, []byte("trace_"))
}

// match returns the first pattern with words that are in the message and not in the request, or
// nil.
func match(message string, asked []byte) (*pattern, string) {
	folded := false
	for i := range patterns {
		for _, words := range patterns[i].words {
			if !strings.Contains(message, words) {
				continue
			}
			if !folded {
				asked, folded = fold(asked), true // lazily, because most messages match no pattern
			}
			if !bytes.Contains(asked, []byte(words)) {
				return &patterns[i], words
			}
		}
	}
	return nil, ""
}

// given corrects a meaning by the error code. An invalid parameter is the client's mistake whatever
// the words, and "not supported" does not always mean the method.
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
