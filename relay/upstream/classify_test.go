package upstream

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
)

// saying has a provider's message per pattern, in matching order.
var saying = []struct {
	message string
	want    meaning
}{
	{"block range is too wide", isRange},
	{"Range too large", isRange},
	{"exceeded max block range of 2000", isRange},
	{"block count exceeds the range of 500", isRange},
	{"query returns logs over more than 10000 results", isRange},
	{"query returned more than 10000 results", isRange},
	{"query exceeds max results 20000, retry with the range 1-2", isRange},
	{"response too large", isRange},
	{"Log response size exceeded. query exceeds limit", isRange},
	{"please limit the query to at most 1000 blocks", isRange},
	{"too many results, narrow your filter", isRange},
	{"Try paginating the request", isRange},
	{"eth_getLogs is limited to a 10,000 range", isRange},
	{"block range of 99999 is too big", isRange},
	{"block range is too large, narrow your filter", isRange},
	{"exceed maximum block range: 5000", isRange},
	{"block range limit exceeded", isRange},
	{"Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your " +
		"parameters, this block range should work: [0x1, 0xa]", isRange},
	{"eth_getLogs and eth_newFilter are limited to a 10,000 blocks range", isRange},
	{"ranges over 10000 blocks are not supported on freetier", isRange},
	{"requested too many blocks from 1 to 9999, maximum is set to 2048", isRange},
	{"Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range", isRange},
	{"Requested range exceeds maximum RPC range limit", isRange},
	{"exceed maximum blocks distance: 5000", isRange},
	{"Too many logs requested. Max logs per request is 10000", isRange},
	{"Please specify an address in your request", isRange},
	{"query timeout exceeded. Consider reducing your block range", isRange},
	{"sender is over rate limit", isAnswer},
	{"trace_block is not available on the Free tier - upgrade to Pay As You Go", isPlan},
	{"method is not available on freetier, please upgrade", isPlan},
	{"archive requests are not supported on free tier", isPlan},
	{"debug_traceCall is not available on the free plan", isPlan},
	{"debug_traceCall is not supported on your plan", isPlan},
	{"trace_call is not included in your plan", isPlan},
	{"archive is not supported on your current plan", isPlan},
	{"archive requests are not included in your current plan", isPlan},
	{"please upgrade your plan", isPlan},
	{"You've reached the free tier limits", isBilling},
	{"Monthly capacity limit exceeded. Visit https://provider.example", isBilling},
	{"limit for your current plan", isBilling},
	{"Your app has exceeded its compute units per second capacity", isThrottled},
	{"you have exceeded the quota", isThrottled},
	{"Too Many Requests", isThrottled},
	{"the node is under too much load", isThrottled},
	{"request rate limited", isThrottled},
	{"limit exceeded", isThrottled},
	{"project ID request rate exceeded", isThrottled},
	{"block tag pending is not available here", isMissingData},
	{"missing trie node 5f00 (path )", isMissingData},
	{"header not found", isMissingData},
	{"Unknown block", isMissingData},
	{"block not found: 0x10", isMissingData},
	{"no state available for block", isMissingData},
	{"required historical state unavailable", isMissingData},
	{"history has been pruned for this block", isMissingData},
	{"block number greater than latest", isMissingData},
	{"state at block #17 is pruned", isMissingData},
	{"pruned history unavailable", isMissingData},
	{"old data not available due to pruning", isMissingData},
	{"no historical RPC is available for this block", isMissingData},
	{"metadata is not found", isMissingData},
	{"block range extends beyond current head block", isMissingData},
	{"execution timeout", isExecTimeout},
	{"execution aborted (timeout = 5s)", isExecTimeout},
	{"request timed out", isExecTimeout},
	{"execution reverted: ERC20: transfer amount exceeds balance", isAnswer},
	{"VM execution error.", isAnswer},
	{"out of gas", isAnswer},
	{"invalid opcode: INVALID", isAnswer},
	{"already known", isAnswer},
	{"known transaction: 0xabc", isAnswer},
	{"transaction already imported", isAnswer},
	{"already in mempool", isAnswer},
	{"nonce too low: next nonce 7, tx nonce 5", isAnswer},
	{"replacement transaction underpriced", isAnswer},
	{"insufficient funds for gas * price + value", isAnswer},
	{"Method not found", isAbsent},
	{"the method trace_block does not exist/is not available", isAbsent},
	{"trace_block is not supported on this endpoint", isAbsent},
	{"Unsupported method: trace_block", isAbsent},
	{"invalid api key", isDenied},
	{"API key disabled", isDenied},
	{"Internal error", isNodeFailure},
	{"Internal server error", isNodeFailure},
	{"Internal JSON-RPC error.", isNodeFailure},
	{"no backend is currently healthy to serve traffic", isNodeFailure},
	{"something nobody has heard of", isAnswer},
}

func errorObject(code int, message string) []byte {
	return fmt.Appendf(nil, `{"code":%d,"message":%q}`, code, message)
}

func TestProviderErrorsMeanWhatTheTableSays(t *testing.T) {
	t.Parallel()
	for _, row := range saying {
		for _, message := range []string{row.message, strings.ToUpper(row.message)} {
			if v, _ := classifyError(chain.EVM, errorObject(-32000, message), nil); v.meaning != row.want {
				t.Errorf("%q means %d, want %d", message, v.meaning, row.want)
			}
		}
	}
}

func TestTheFirstPatternThatMatchesWins(t *testing.T) {
	t.Parallel()
	for i, first := range saying[:len(saying)-1] {
		for _, second := range saying[i+1:] {
			if beginsAsRevert(second.message) {
				continue // what follows is the contract's text
			}
			v, _ := classifyError(chain.EVM, errorObject(-32000, second.message+"; "+first.message), nil)
			if v.meaning != first.want {
				t.Errorf("%q then %q means %d, want the earlier row's %d", second.message, first.message, v.meaning,
					first.want)
			}
		}
	}
}

func beginsAsRevert(message string) bool {
	return slices.ContainsFunc(revertWords, func(words string) bool {
		return strings.HasPrefix(strings.ToLower(message), words)
	})
}

func TestEveryPatternHasARow(t *testing.T) {
	t.Parallel()
	for _, p := range patterns {
		for _, words := range p.words {
			shown := slices.ContainsFunc(saying, func(row struct {
				message string
				want    meaning
			},
			) bool {
				first, with := match(strings.ToLower(row.message), nil)
				return with == words && first.rank == p.rank && row.want == p.meaning
			})
			if !shown {
				t.Errorf("no row is decided by %q", words)
			}
			if words != strings.ToLower(words) {
				t.Errorf("%q is not in lower case, so it never matches", words)
			}
		}
	}
}

func TestWhatAContractSaysWhenItRevertsMeansNothing(t *testing.T) {
	t.Parallel()
	for _, row := range saying {
		for _, prefix := range revertWords {
			if v, _ := classifyError(chain.EVM, errorObject(3, prefix+": "+row.message), nil); v != verdicts[isAnswer] {
				t.Errorf("%q with %q means %d", prefix, row.message, v.meaning)
			}
		}
	}
}

func TestWordsOfTheRequestMeanNothing(t *testing.T) {
	t.Parallel()
	for _, row := range saying {
		for _, write := range []func(string) string{
			strings.ToUpper,
			func(s string) string { return s },
			func(s string) string { return strings.ReplaceAll(s, "e", `\u0065`) },
		} {
			asked := []byte(`{"method":"eth_getBlockByNumber","params":["` + write(row.message) + `",false]}`)
			v, _ := classifyError(chain.EVM, errorObject(-32000, "invalid block: "+row.message), asked)
			if v != verdicts[isAnswer] {
				t.Errorf("%q repeated from %s means %d", row.message, asked, v.meaning)
			}
			if v, _ := classifyError(chain.EVM, errorObject(-32000, "monthly capacity limit; "+row.message),
				asked); row.want != isRange &&
				!strings.Contains(strings.ToLower(row.message), "monthly capacity limit") && v.meaning != isBilling {
				t.Errorf("beside %q of the request the provider's own words mean %d", row.message, v.meaning)
			}
		}
	}
}

func TestVerdictsSeparateAnotherTryBlameAndPassingOn(t *testing.T) {
	t.Parallel()
	for m, want := range map[meaning]verdict{
		isAnswer:      {another: false, blame: blameNobody, passOn: true},
		isRange:       {another: true, blame: blameNobody},
		isPlan:        {another: true, blame: blameNobody},
		isBilling:     {another: true, blame: blameFailure},
		isThrottled:   {another: true, blame: blameThrottle},
		isMissingData: {another: true, blame: blameNobody, passOn: true},
		isExecTimeout: {another: true, blame: blameNobody, passOn: true},
		isAbsent:      {another: true, blame: blameNobody},
		isUnsupported: {another: true, blame: blameNobody, passOn: true},
		isDenied:      {another: true, blame: blameFailure},
		isNodeFailure: {another: true, blame: blameNobody},
		isBroken:      {another: true, blame: blameFailure},
		isUnreachable: {another: true, blame: blameFailure},
	} {
		want.meaning = m
		if got := verdicts[m]; got != want {
			t.Errorf("the verdict on %d is %+v, want %+v", m, got, want)
		}
	}
}

func TestCodesCorrectWhatWordsSay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		code    int
		message string
		want    meaning
	}{
		{-32601, "something nobody has heard of", isAbsent},
		{-32602, "something nobody has heard of", isAnswer},
		{-32602, "encoding not supported", isAnswer},              // the client's own parameter
		{-32000, "transaction type not supported", isUnsupported}, // not about the method
		{-32601, "not supported", isAbsent},
		{-32004, "not supported", isAbsent},
		{-32000, "this method is not supported", isAbsent},
		{3, "execution reverted", isAnswer},
		{4444, "anything", isMissingData},
		{-32000, "Unauthorized", isDenied},
		{-32000, "VM Exception while processing transaction: revert Unauthorized", isAnswer},
		{-38026, "too many blocks", isAnswer},
		{-38014, "insufficient funds", isAnswer},
	} {
		if v, _ := classifyError(chain.EVM, errorObject(row.code, row.message), nil); v.meaning != row.want {
			t.Errorf("%d %q means %d, want %d", row.code, row.message, v.meaning, row.want)
		}
	}
	for _, object := range []string{`{"code":"x"}`, `{"code":1,"message":{}}`, `{"code":1e99}`} {
		if v, _ := classifyError(chain.EVM, []byte(object), nil); v.meaning != isBroken {
			t.Errorf("%s means %d, want an answer that cannot be used", object, v.meaning)
		}
	}
}

func TestErrorsThatDependOnTheMethodOrTheData(t *testing.T) {
	t.Parallel()
	request := func(method string) []byte {
		return []byte(`{"jsonrpc":"2.0","id":` + strings.Repeat("1", idDigits) + `,"method":"` + method +
			`","params":[]}`)
	}
	for name, row := range map[string]struct {
		method, object string
		want           meaning
	}{
		"a trace that this node has not": {
			"debug_traceTransaction", `{"code":-32000,"message":"transaction not found"}`, isMissingData,
		},
		"no trace":           {"eth_call", `{"code":-32000,"message":"transaction not found"}`, isAnswer},
		"an internal error":  {"eth_call", `{"code":-32603,"message":"Internal error","data":null}`, isNodeFailure},
		"a revert called so": {"eth_call", `{"code":-32603,"message":"Internal error","data":"0x08c379a0"}`, isAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v, _ := classifyError(chain.EVM, []byte(row.object), request(row.method)); v.meaning != row.want {
				t.Errorf("%s of %s means %d, want %d", row.object, row.method, v.meaning, row.want)
			}
		})
	}
}

func TestSolanaCodesDecideBeforeWords(t *testing.T) {
	t.Parallel()
	for _, code := range []int{
		-32001, -32004, -32005, -32007, -32008, -32009, -32010, -32011, -32012, -32014, -32016, -32019,
	} {
		if v, _ := classifyError(chain.Solana, errorObject(code, "execution reverted"),
			nil); v.meaning != isMissingData {
			t.Errorf("%d means %d: another node may have it", code, v.meaning)
		}
	}
	for _, code := range []int{-32002, -32003, -32006, -32013, -32015, -32017, -32018, -32602} {
		if v, _ := classifyError(chain.Solana, errorObject(code, "header not found"), nil); v.meaning != isAnswer {
			t.Errorf("%d means %d: it is the answer", code, v.meaning)
		}
	}
	if v, _ := classifyError(chain.Solana, errorObject(-32601, "nothing"), nil); v.meaning != isAbsent {
		t.Error("-32601 must mean the same on Solana")
	}
	if v, _ := classifyError(chain.EVM, errorObject(-32005, "nothing"), nil); v.meaning != isAnswer {
		t.Error("Solana's codes must mean nothing on EVM chains")
	}
}

func TestStatusesMeanWhatTheTableSays(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]meaning{
		200: isAnswer, 400: isAnswer, 404: isAnswer,
		301: isBroken, 302: isBroken, 303: isBroken, 307: isBroken, 308: isBroken,
		401: isDenied, 402: isBilling, 403: isDenied, 413: isUnsupported, 429: isThrottled,
		500: isBroken, 502: isBroken, 503: isBroken, 504: isBroken, 529: isBroken,
	} {
		if v, _ := classifyStatus(status); v.meaning != want {
			t.Errorf("HTTP %d %s means %d, want %d", status, http.StatusText(status), v.meaning, want)
		}
	}
}
