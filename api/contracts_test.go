package api_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/toolbox/abi"
	"github.com/chainaccess/gateway/toolbox/contracts"
)

const (
	aToken = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	aProxy = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
	aCode  = "0x43506849D7C04F9138D1A2050bbF3A0c054402dd"

	erc20ABI = `[{"type":"function","name":"transfer","inputs":[{"name":"to","type":"address",` +
		`"internalType":"address"},` +
		`{"name":"value","type":"uint256","internalType":"uint256"}],"outputs":[{"name":"","type":"bool"}],` +
		`"stateMutability":"nonpayable"},` +
		`{"type":"function","name":"permit","inputs":[{"name":"owner","type":"address"},{"name":"signature",` +
		`"type":"bytes"}]}]`
)

// library fakes Sourcify and the signature database.
type library struct {
	*httptest.Server

	mu       sync.Mutex          // guards the following fields
	verified map[string]string   // ABIs by address
	named    map[string][]string // signatures by selector
	fails    int                 // the status of every answer; zero answers normally
	asked    int
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{
		verified: map[string]string{aToken: erc20ABI, aCode: erc20ABI}, named: map[string][]string{
			"0x095ea7b3": {"approve(address,uint256)"},
		},
	}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	w.Header().Set("Content-Type", "application/json")
	if l.fails != 0 {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(l.fails)
		return
	}
	if selector := r.URL.Query().Get("function"); selector != "" {
		entries := make([]map[string]any, 0, 1)
		for _, name := range l.named[selector] {
			entries = append(entries, map[string]any{"name": name, "filtered": false, "hasVerifiedContract": true})
		}
		text, err := json.Marshal(map[string]any{
			"ok": true, "result": map[string]any{"function": map[string]any{selector: entries}, "event": struct{}{}},
		})
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(text)
		return
	}
	address := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if list, ok := l.verified[address]; ok {
		_, _ = fmt.Fprintf(w,
			`{"abi":%s,"compilation":{"name":"Token"},"proxyResolution":{"isProxy":false,"proxyType":null,"implementations":[]},
			"match":"exact_match","chainId":"1","address":%q}`, list, address)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprintf(w, `{"match":null,"creationMatch":null,"runtimeMatch":null,"chainId":"1","address":%q}`, address)
}

// fail makes every following request fail with a status.
func (l *library) fail(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails = status
}

func (l *library) requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// withContracts starts a gateway with a library and a chain that has one proxy contract.
func withContracts(t *testing.T) (*gateway, *library) {
	t.Helper()
	l := newLibrary(t)
	g := setup(t, func(o *options) {
		o.toolbox = func(made *service.Toolbox) {
			made.Contracts = contracts.New(contracts.Options{
				Node: made.Node, SourcifyURL: l.URL, SignaturesURL: l.URL, Now: time.Now,
			})
		}
	})
	empty, filled := "0x"+strings.Repeat("0", 64), "0x"+strings.Repeat("0", 24)+strings.TrimPrefix(aCode, "0x")
	for _, u := range g.ups {
		u.On("eth_getCode", testkit.Result("0x6080"))
		u.On("eth_getStorageAt", func(e *testkit.Exchange) {
			answer := empty
			if bytes.Contains(e.Request.Params, []byte(aProxy)) && bytes.Contains(e.Request.Params,
				[]byte("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc")) {
				answer = filled
			}
			testkit.Result(answer)(e)
		})
	}
	return g, l
}

func transferOf(words ...string) string {
	data := "0xa9059cbb"
	for _, w := range words {
		data += strings.Repeat("0", 64-len(w)) + w
	}
	return data
}

func (g *gateway) decode(key, address, data string) answer {
	g.t.Helper()
	body, err := json.Marshal(map[string]string{"data": data})
	g.must(err)
	return g.ask(http.MethodPost, "/toolbox/decode/eth_mainnet/"+address, key, string(body), "Content-Type",
		"application/json")
}

func TestContracts_WireFormStaysAsItIs(t *testing.T) {
	t.Parallel()
	g, l := withContracts(t)
	key := g.unlimited()
	const other = "0x000000000000000000000000000000000000dEaD"
	abiOf := func(address string) answer {
		return g.ask(http.MethodGet, "/toolbox/abi/eth_mainnet/"+address, key, "")
	}
	abiOf(aToken).golden("abi")
	abiOf(strings.ToLower(aToken)).golden("abi hit")
	abiOf(aProxy).golden("abi of a proxy")
	abiOf(other).golden("abi not verified")
	g.decode(key, aToken, transferOf("d8da6bf26964af9d7eed9e03e53415d37aa96045", "f4240")).golden("decode")
	g.decode(key, aProxy,
		"0x"+"0cd04937"+strings.TrimPrefix(transferOf("d8da6bf26964af9d7eed9e03e53415d37aa96045", "40", "3", "010203"),
			"0xa9059cbb")).golden("decode unknown")
	permit := "0x" + selector(t, "permit(address,bytes)") +
		strings.TrimPrefix(transferOf("d8da6bf26964af9d7eed9e03e53415d37aa96045", "40", "2"), "0xa9059cbb") + "0102" +
		strings.Repeat("0", 60)
	g.decode(key, aProxy, permit).golden("decode dynamic")
	g.decode(key, other, "0x095ea7b3"+strings.TrimPrefix(transferOf("1", "2"), "0xa9059cbb")).golden("decode guess")
	g.decode(key, aToken, "0x").golden("decode empty")
	g.decode(key, aToken, "0xa9059cbb00").golden("decode short")
	l.fail(http.StatusTooManyRequests)
	abiOf("0x0000000000000000000000000000000000000001").golden("abi sourcify away")
}

func selector(t *testing.T, signature string) string {
	t.Helper()
	f, err := abi.ParseSignature(signature)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Selector()
	return hex.EncodeToString(s[:])
}

func TestContracts_WrongRequestIsExplainedAndFree(t *testing.T) {
	t.Parallel()
	g, l := withContracts(t)
	key := g.unlimited()
	for _, row := range []struct{ method, path, body, says string }{
		{http.MethodGet, "/toolbox/abi/solana_mainnet/" + aToken, "", "programs of Solana have no ABI"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/" + aToken[:41], "", "address:"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/" + aToken + "0", "", "address:"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/" + aToken[2:], "", "address:"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/0X" + aToken[2:], "", "address:"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/vitalik.eth", "", "address:"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/" + strings.Replace(aToken, "fC", "Fc", 1), "", "checksum"},
		{
			http.MethodPost, "/toolbox/decode/eth_mainnet/" + strings.Replace(aToken, "fC", "Fc", 1), `{"data":"0x"}`,
			"checksum",
		},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/%00", "", "address:"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/" + aToken[:40] + "%D0%B0", "", "address:"},
		{http.MethodGet, "/toolbox/abi/eth_mainnet/" + aToken + "?fields=all", "", "fields: unexpected property"},
		{
			http.MethodPost, "/toolbox/decode/solana_mainnet/" + aToken, `{"data":"0x"}`,
			"programs of Solana have no ABI",
		},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/0x1", `{"data":"0x"}`, "address:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, "", "data:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{}`, "data:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":null}`, "data:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":7}`, "data:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":""}`, "data:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":"a9059cbb"}`, "data:"},
		{
			http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":"0xa9059cb"}`,
			"data has 7 hexadecimal digits",
		},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":"0xzz"}`, "data:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":"0xa9059cbb\n"}`, "data:"},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":"0x","to":"x"}`, "to: unexpected property"},
		{
			http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken,
			`{"data":"0x` + strings.Repeat("0", 262_146) + `"}`, "data:",
		},
		{http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":"0x01"}`, "data has 1 bytes"},
		{
			http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken, `{"data":"0xa9059cbb00"}`,
			"needs at least 64 bytes after the selector, and there are 1",
		},
		{
			http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken,
			`{"data":"` + transferOf(strings.Repeat("f", 64), "1") + `"}`, "to has bits beyond its type, address",
		},
		{
			http.MethodPost, "/toolbox/decode/eth_mainnet/" + aToken,
			`{"data":"0x` + selector(t, "permit(address,bytes)") + transferOf("1", "40", strings.Repeat("f", 64))[10:] +
				`"}`, "signature has a length that is longer than the data",
		},
	} {
		a := g.ask(row.method, row.path, key, row.body)
		a.refused(http.StatusUnprocessableEntity, -32602)
		if !strings.Contains(a.body, row.says) {
			t.Errorf("%s %s with %.80s: %s does not say %q", row.method, row.path, row.body, a.body, row.says)
		}
	}
	g.ask(http.MethodPost, "/toolbox/decode/eth_mainnet/"+aToken, key, `{"data":"0x`+strings.Repeat("0", 400_000)+
		`"}`).refused(http.StatusRequestEntityTooLarge, -32600)
	if n := l.requests(); n > 4 { // those that needed the ABI
		t.Errorf("Sourcify was asked %d times", n)
	}
	var charged plan.Units
	for _, line := range g.lines(key) {
		charged += line.Units
	}
	if charged != 0 {
		t.Errorf("%d thousandths of a unit were charged", charged)
	}
}

func TestContracts_CostAUnitButHitsAndFailuresAreFree(t *testing.T) {
	t.Parallel()
	g, l := withContracts(t)
	key := g.unlimited()
	ask := func(address string) answer {
		return g.ask(http.MethodGet, "/toolbox/abi/eth_mainnet/"+address, key, "")
	}
	if a := ask(aToken); a.status != http.StatusOK || a.hit() {
		t.Fatalf("HTTP %d %s", a.status, a.body)
	}
	if a := ask(strings.ToLower(aToken)); a.status != http.StatusOK || !a.hit() {
		t.Errorf("in other capitals it is no hit: %s", a.body)
	}
	data := transferOf("1", "2")
	if a := g.decode(key, aToken, data); a.status != http.StatusOK || a.hit() {
		t.Errorf("HTTP %d %s", a.status, a.body)
	}
	if a := g.decode(key, aToken, "0x"+strings.ToUpper(data[2:])); a.status != http.StatusOK || !a.hit() {
		t.Errorf("in other capitals it is no hit: %s", a.body)
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		l.fail(status)
		a := ask("0x0000000000000000000000000000000000000002")
		a.refused(http.StatusServiceUnavailable, -32020)
		if a.header.Get("Retry-After") == "" {
			t.Errorf("after %d from Sourcify nothing says when to try again: %v", status, a.header)
		}
	}
	sums := map[string]figures{}
	for _, line := range g.lines(key) {
		if line.Service != string(account.Contracts) {
			t.Errorf("a line is of %s", line.Service)
		}
		f := sums[line.Method]
		sums[line.Method] = figures{f.requests + line.Requests, f.units + line.Units}
	}
	if want := plan.Unit; sums["get_abi"].units != want || sums["decode_calldata"].units != want {
		t.Errorf("used %v, want a unit of each", sums)
	}
}
