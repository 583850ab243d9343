package tools_test

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

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/tools"
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
func withContracts(t *testing.T) (*apitest.Gateway, *library) {
	t.Helper()
	l := newLibrary(t)
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Toolbox = func(made *tools.Toolbox) {
			made.Contracts = contracts.New(contracts.Options{
				Node: made.Node, SourcifyURL: l.URL, SignaturesURL: l.URL, Now: time.Now,
			})
		}
	})
	empty, filled := "0x"+strings.Repeat("0", 64), "0x"+strings.Repeat("0", 24)+strings.TrimPrefix(aCode, "0x")
	for _, u := range g.Ups {
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

func decode(g *apitest.Gateway, key, address, data string) apitest.Answer {
	g.T.Helper()
	body, err := json.Marshal(map[string]string{"data": data})
	g.Must(err)
	return g.Ask(http.MethodPost, "/toolbox/decode/eth_mainnet/"+address, key, string(body), "Content-Type",
		"application/json")
}

func TestContracts_WireFormStaysAsItIs(t *testing.T) {
	t.Parallel()
	g, l := withContracts(t)
	key := g.Unlimited()
	const other = "0x000000000000000000000000000000000000dEaD"
	abiOf := func(address string) apitest.Answer {
		return g.Ask(http.MethodGet, "/toolbox/abi/eth_mainnet/"+address, key, "")
	}
	abiOf(aToken).Golden("abi")
	abiOf(strings.ToLower(aToken)).Golden("abi hit")
	abiOf(aProxy).Golden("abi of a proxy")
	abiOf(other).Golden("abi not verified")
	decode(g, key, aToken, transferOf("d8da6bf26964af9d7eed9e03e53415d37aa96045", "f4240")).Golden("decode")
	decode(g, key, aProxy,
		"0x"+"0cd04937"+strings.TrimPrefix(transferOf("d8da6bf26964af9d7eed9e03e53415d37aa96045", "40", "3", "010203"),
			"0xa9059cbb")).Golden("decode unknown")
	permit := "0x" + selector(t, "permit(address,bytes)") +
		strings.TrimPrefix(transferOf("d8da6bf26964af9d7eed9e03e53415d37aa96045", "40", "2"), "0xa9059cbb") + "0102" +
		strings.Repeat("0", 60)
	decode(g, key, aProxy, permit).Golden("decode dynamic")
	decode(g, key, other, "0x095ea7b3"+strings.TrimPrefix(transferOf("1", "2"), "0xa9059cbb")).Golden("decode guess")
	decode(g, key, aToken, "0x").Golden("decode empty")
	decode(g, key, aToken, "0xa9059cbb00").Golden("decode short")
	l.fail(http.StatusTooManyRequests)
	abiOf("0x0000000000000000000000000000000000000001").Golden("abi sourcify away")
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
	key := g.Unlimited()
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
		t.Run(row.method, func(t *testing.T) {
			a := g.Ask(row.method, row.path, key, row.body)
			a.Refused(http.StatusUnprocessableEntity, -32602)
			if !strings.Contains(a.Body, row.says) {
				t.Errorf("%s %s with %.80s: %s does not say %q", row.method, row.path, row.body, a.Body, row.says)
			}
		})
	}
	g.Ask(http.MethodPost, "/toolbox/decode/eth_mainnet/"+aToken, key, `{"data":"0x`+strings.Repeat("0", 400_000)+
		`"}`).Refused(http.StatusRequestEntityTooLarge, -32600)
	if n := l.requests(); n > 4 { // those that needed the ABI
		t.Errorf("Sourcify was asked %d times", n)
	}
	var charged plan.Units
	for _, line := range g.Lines(key) {
		charged += line.Units
	}
	if charged != 0 {
		t.Errorf("%d thousandths of a unit were charged", charged)
	}
}

func TestContracts_CostAUnitButHitsAndFailuresAreFree(t *testing.T) {
	t.Parallel()
	g, l := withContracts(t)
	key := g.Unlimited()
	ask := func(address string) apitest.Answer {
		return g.Ask(http.MethodGet, "/toolbox/abi/eth_mainnet/"+address, key, "")
	}
	if a := ask(aToken); a.Status != http.StatusOK || a.Hit() {
		t.Fatalf("HTTP %d %s", a.Status, a.Body)
	}
	if a := ask(strings.ToLower(aToken)); a.Status != http.StatusOK || !a.Hit() {
		t.Errorf("in other capitals it is no hit: %s", a.Body)
	}
	data := transferOf("1", "2")
	if a := decode(g, key, aToken, data); a.Status != http.StatusOK || a.Hit() {
		t.Errorf("HTTP %d %s", a.Status, a.Body)
	}
	if a := decode(g, key, aToken, "0x"+strings.ToUpper(data[2:])); a.Status != http.StatusOK || !a.Hit() {
		t.Errorf("in other capitals it is no hit: %s", a.Body)
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		l.fail(status)
		a := ask("0x0000000000000000000000000000000000000002")
		a.Refused(http.StatusServiceUnavailable, -32020)
		if a.Header.Get("Retry-After") == "" {
			t.Errorf("after %d from Sourcify nothing says when to try again: %v", status, a.Header)
		}
	}
	sums := map[string]apitest.Figures{}
	for _, line := range g.Lines(key) {
		if line.Service != string(account.Contracts) {
			t.Errorf("a line is of %s", line.Service)
		}
		f := sums[line.Method]
		sums[line.Method] = apitest.Figures{Requests: f.Requests + line.Requests, Units: f.Units + line.Units}
	}
	if want := plan.Unit; sums["get_abi"].Units != want || sums["decode_calldata"].Units != want {
		t.Errorf("used %v, want a unit of each", sums)
	}
}
