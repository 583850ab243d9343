package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// get requests a URL and returns the status and the body.
func get(t *testing.T, url string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	must(t, err)
	resp, err := (&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, body
}

// listing holds the members of a contract that the tests read.
type listing struct {
	Match       *string `json:"match"`
	ChainID     string  `json:"chainId"`
	Address     string  `json:"address"`
	CustomCode  string  `json:"customCode"`
	ABI         []any   `json:"abi"`
	Compilation *struct {
		Name     string `json:"name"`
		Compiler string `json:"compilerVersion"`
	} `json:"compilation"`
	Proxy *struct {
		IsProxy         bool                `json:"isProxy"`
		Type            *string             `json:"proxyType"`
		Implementations []map[string]string `json:"implementations"`
	} `json:"proxyResolution"`
	Sources map[string]struct {
		Content string `json:"content"`
	} `json:"sources"`
}

func (s *Sandbox) listing(t *testing.T, path string) (status int, l listing) {
	t.Helper()
	status, body := get(t, s.Sourcify().URL+"/server/v2/contract/"+path)
	if err := json.Unmarshal(body, &l); err != nil {
		t.Fatalf("%s: %v: %s", path, err, body)
	}
	return status, l
}

func TestSourcify_KnowsTheContractsOfTheSandbox(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet, chain.EthMainnet}})
	const fields = "?fields=abi,compilation,proxyResolution"
	for _, tc := range []struct {
		path, name, match, proxy, target string
	}{
		{"8453/" + USDC(chain.BaseMainnet).Hex(), "FiatTokenProxy", "exact_match", "ZeppelinOSProxy", "FiatTokenV2_2"},
		{"8453/0x2Ce6311ddAE708829bc0784C967b7d77D19FD779", "FiatTokenV2_2", "match", "", ""},
		{"1/" + strings.ToLower(FeedETH.Hex()), "PriceFeed", "exact_match", "", ""},
		{"1/" + StorageProxy.Hex(), "StorageProxy", "exact_match", "EIP1967Proxy", "Overloads"},
		{"8453/" + BeaconProxy.Hex(), "BeaconProxy", "exact_match", "EIP1967Proxy", "Overloads"},
		{"8453/" + LoopingProxy.Hex(), "StorageProxy", "exact_match", "EIP1967Proxy", "StorageProxy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, l := s.listing(t, tc.path+fields)
			if status != http.StatusOK || l.Match == nil || *l.Match != tc.match || l.Compilation.Name != tc.name ||
				len(l.ABI) == 0 || l.Sources != nil {
				t.Errorf("%s: %d, %+v", tc.path, status, l)
				return
			}
			in := expect.In(t, "%s is a proxy", tc.path)
			expect.Equal(in, l.Proxy.IsProxy, tc.proxy != "")
			if tc.proxy != "" {
				expect.Equal(in, *l.Proxy.Type, tc.proxy)
				expect.Equal(in, l.Proxy.Implementations[0]["name"], tc.target)
			}
		})
	}
	status, l := s.listing(t, "1/"+UniversalResolver.Hex()+"?fields=sources,compilation.name")
	if status != http.StatusOK || !strings.Contains(l.Sources["UniversalResolver.sol"].Content,
		"contract UniversalResolver") {
		t.Errorf("sources: %d, %+v", status, l)
	}
	if l.Compilation.Name != "UniversalResolver" || l.Compilation.Compiler != "" {
		t.Errorf("a part of a field came with others: %+v", l.Compilation)
	}
}

func TestSourcify_SaysWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"8453/" + Unverified.Hex():                       {http.StatusNotFound, ""},
		"8453/" + MinimalProxy.Hex():                     {http.StatusNotFound, ""},
		"8453/" + common.Address{1}.Hex():                {http.StatusNotFound, ""},
		"1/" + Overloads.Hex():                           {http.StatusNotFound, "unsupported_chain"},
		"8453/0x12":                                      {http.StatusBadRequest, "invalid_parameter"},
		"8453/" + Overloads.Hex() + "?fields=colour":     {http.StatusBadRequest, "invalid_parameter"},
		"8453/" + Overloads.Hex() + "?fields=a&omit=abi": {http.StatusBadRequest, "invalid_parameter"},
	} {
		t.Run(path, func(t *testing.T) {
			status, l := s.listing(t, path)
			in := expect.In(t, "%s", path)
			expect.Equal(in, status, want.status)
			expect.Equal(in, l.CustomCode, want.code)
			expect.Nil(in, l.Match)
			if want.code == "" && (l.ChainID != "8453" || !strings.HasPrefix(path, "8453/"+l.Address)) {
				t.Errorf("says nothing of what was asked for: %+v", l)
			}
		})
	}
}

func TestSignatureDatabase_KnowsWhatContractsHave(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.PolygonPoS}})
	type candidate struct {
		Name     string `json:"name"`
		Filtered bool   `json:"filtered"`
	}
	type found struct {
		OK     bool `json:"ok"`
		Result struct {
			Function map[string][]candidate `json:"function"`
			Event    map[string][]candidate `json:"event"`
		} `json:"result"`
	}
	const transfer, event = "0xa9059cbb", "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	for query, want := range map[string]map[string][]string{
		"?function=" + transfer + "&filter=true": {transfer: {"transfer(address,uint256)"}},
		"?function=" + transfer + "&filter=false": {
			transfer: {"many_msg_babbage(bytes1)", "transfer(address,uint256)"},
		},
		"?function=0x42966c68,0xffffffff": {
			"0x42966c68": {"burn(uint256)", "collate_propagate_storage(bytes16)"}, "0xffffffff": nil,
		},
		"?event=" + event + "&filter=true": {event: {"Transfer(address,address,uint256)"}},
		// errors are listed as functions
		"?function=0x77209fe8":                               {"0x77209fe8": {"ResolverNotFound(bytes)"}},
		"?event=0x" + strings.Repeat("00", 32) + "&function": {"0x" + strings.Repeat("00", 32): {}},
	} {
		t.Run(query, func(t *testing.T) {
			status, body := get(t, s.Sourcify().URL+"/signature-database/v1/lookup"+query)
			var f found
			err := json.Unmarshal(body, &f)
			in := expect.In(t, "%s", query)
			require.NoError(in, err)
			require.Equal(in, status, http.StatusOK, body)
			require.True(in, f.OK, body)
			got := map[string][]string{}
			for _, lists := range []map[string][]candidate{f.Result.Function, f.Result.Event} {
				for hash, list := range lists {
					if list != nil {
						got[hash] = []string{}
					} else {
						got[hash] = nil
					}
					for _, c := range list {
						got[hash] = append(got[hash], c.Name)
					}
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	if status, body := get(t, s.Sourcify().URL+"/signature-database/v1/lookup?function=0x12"); status !=
		http.StatusBadRequest {
		t.Errorf("a short hash: %d, %s", status, body)
	}
}

func TestServices_CanBeGivenTrouble(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.OptimismMainnet}})
	service := s.Sourcify()
	url := service.URL + "/server/v2/contract/10/" + Overloads.Hex()
	for name, tc := range map[string]struct {
		trouble Trouble
		status  int
		body    func([]byte) bool
	}{
		"refuses":   {Trouble{Status: http.StatusTooManyRequests, Retry: "7"}, http.StatusTooManyRequests, json.Valid},
		"fails":     {Trouble{Status: http.StatusInternalServerError}, http.StatusInternalServerError, json.Valid},
		"garbage":   {Trouble{Garbage: true}, http.StatusOK, func(b []byte) bool { return !json.Valid(b) }},
		"much":      {Trouble{Bytes: 3 << 20}, http.StatusOK, func(b []byte) bool { return len(b) == 3<<20 }},
		"elsewhere": {Trouble{Location: "http://127.0.0.1:1/"}, http.StatusFound, func([]byte) bool { return true }},
		"late":      {Trouble{Delay: time.Millisecond}, http.StatusOK, json.Valid},
		"well":      {Trouble{}, http.StatusOK, json.Valid},
	} {
		t.Run(name, func(t *testing.T) {
			service.Trouble(tc.trouble)
			if status, body := get(t, url); status != tc.status || !tc.body(body) {
				t.Errorf("%d, %.80s", status, body)
			}
		})
	}
	for _, trouble := range []Trouble{{Cut: true}, {Delay: time.Hour}} {
		service.Trouble(trouble)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		must(t, err)
		resp, err := http.DefaultClient.Do(req)
		cancel()
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%+v: answered %d", trouble, resp.StatusCode)
		} else if trouble.Delay > 0 && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v: %v", trouble, err)
		}
	}
	if !slices.ContainsFunc(s.services, func(other *Service) bool { return other == service }) {
		t.Error("the service is not stopped with the sandbox")
	}
}
