package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

const batchABI = `[
	{"type":"function","name":"query","inputs":[{"name":"requests","type":"tuple[]","components":[
		{"name":"sender","type":"address"},{"name":"urls","type":"string[]"},{"name":"data","type":"bytes"}]}],
		"outputs":[{"name":"failures","type":"bool[]"},{"name":"responses","type":"bytes[]"}]},
	{"type":"error","name":"HttpError","inputs":[{"name":"status","type":"uint16"},{"name":"message","type":"string"}]}]`

// offchain asks the UniversalResolver as an EIP-3668 client that resolves batches itself. It
// returns the answer or the revert.
func (c contract) offchain(t *testing.T, method string, args ...any) ([]byte, error) {
	t.Helper()
	input, err := c.ABI.Pack(method, args...)
	must(t, err)
	for range 4 {
		var answer hexutil.Bytes
		err := call(t, c.url, "eth_call", &answer, map[string]any{"to": c.at, "data": hexutil.Bytes(input)}, "latest")
		refusal, reverted := err.(*rpcError) //nolint:errorlint // call returns it unwrapped
		if !reverted {
			must(t, err)
			return answer, nil
		}
		var raw hexutil.Bytes
		must(t, json.Unmarshal(refusal.Data, &raw))
		lookup := c.ABI.Errors["OffchainLookup"]
		if !bytes.HasPrefix(raw, lookup.ID[:4]) {
			return raw, err
		}
		values, err := lookup.Inputs.Unpack(raw[4:])
		must(t, err)
		sender, _ := values[0].(common.Address)
		urls, _ := values[1].([]string)
		data, _ := values[2].([]byte)
		callback, _ := values[3].([4]byte)
		extra, _ := values[4].([]byte)
		if sender != c.at {
			t.Fatalf("the look-up is of %s", sender)
		}
		response := c.gateways(t, sender, urls, data)
		both, err := abi.Arguments{lookup.Inputs[2], lookup.Inputs[4]}.Pack(response, extra)
		must(t, err)
		input = append(callback[:], both...)
	}
	t.Fatal("the look-up does not end")
	return nil, nil
}

// gateways fetches the response to an off-chain lookup, and resolves a batch itself.
func (c contract) gateways(t *testing.T, sender common.Address, urls []string, data []byte) []byte {
	t.Helper()
	if urls[0] != "x-batch-gateway:true" {
		status, response := fetch(t, urls[0], sender, data)
		if status != http.StatusOK {
			t.Fatalf("%s answered %d", urls[0], status)
		}
		return response
	}
	batch, err := abi.JSON(strings.NewReader(batchABI))
	must(t, err)
	values, err := batch.Methods["query"].Inputs.Unpack(data[4:])
	must(t, err)
	requests, _ := values[0].([]struct {
		Sender common.Address `json:"sender"`
		Urls   []string       `json:"urls"`
		Data   []byte         `json:"data"`
	})
	if len(requests) == 0 {
		t.Fatalf("an empty batch: %x", data)
	}
	failures, responses := make([]bool, len(requests)), make([][]byte, len(requests))
	for i, r := range requests {
		status, response := fetch(t, r.Urls[0], r.Sender, r.Data)
		if status != http.StatusOK {
			failures[i] = true
			failed := batch.Errors["HttpError"]
			packed, err := failed.Inputs.Pack(uint16(status), http.StatusText(status)) //nolint:gosec // three digits
			must(t, err)
			response = slices.Concat(failed.ID[:4], packed)
		}
		responses[i] = response
	}
	packed, err := batch.Methods["query"].Outputs.Pack(failures, responses)
	must(t, err)
	return packed
}

// fetch sends a request to a gateway as EIP-3668 specifies.
func fetch(t *testing.T, url string, sender common.Address, data []byte) (int, []byte) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if !strings.Contains(url, "{data}") {
		text, err := json.Marshal(map[string]string{"sender": sender.Hex(), "data": hexutil.Encode(data)})
		must(t, err)
		method, body = http.MethodPost, bytes.NewReader(text)
	}
	url = strings.NewReplacer("{sender}", strings.ToLower(sender.Hex()), "{data}", hexutil.Encode(data)).Replace(url)
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Data hexutil.Bytes `json:"data"`
	}
	must(t, json.NewDecoder(resp.Body).Decode(&answer))
	return resp.StatusCode, answer.Data
}

func TestCCIP_OffchainNamesAreAnsweredByTheGateway(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	universal := s.contract(t, chain.EthMainnet, "UniversalResolver", UniversalResolver)
	accounts := s.Accounts()
	for name, want := range map[string]common.Address{
		ENSCarol: accounts[3].Address, ENSDave: accounts[4].Address, ENSErin: accounts[5].Address,
		"dave." + ENSOffchain: accounts[4].Address, "stranger." + ENSOffchain: {}, "stranger." + ENSDirect: {},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := universal.offchain(t, "resolve", dns(name), addrCall(t, name))
			must(t, err)
			out, err := universal.ABI.Unpack("resolve", answer)
			must(t, err)
			if found, _ := out[0].([]byte); len(found) != 32 || common.BytesToAddress(found) != want {
				t.Errorf("%s resolves to %x, want %s", name, found, want)
			}
		})
	}
	answer, err := universal.offchain(t, "reverse", accounts[5].Address.Bytes(), big.NewInt(60))
	must(t, err)
	out, err := universal.ABI.Unpack("reverse", answer)
	must(t, err)
	in := expect.In(t, "account 5")
	expect.Equal[any](in, out[0], ENSErin)
	expect.Equal[any](in, out[1], genesis.OffchainResolver)
	expect.Equal[any](in, out[2], PublicResolver)
	for name, want := range map[string]string{
		ENSMissing: "HttpError", ENSForged: "ResolverError", ENSExpired: "ResolverError",
		"a.b." + ENSOffchain: "HttpError",
	} {
		t.Run(name, func(t *testing.T) {
			revert, err := universal.offchain(t, "resolve", dns(name), addrCall(t, name))
			if id := universal.ABI.Errors[want].ID; err == nil || !bytes.HasPrefix(revert, id[:4]) {
				t.Errorf("%x, %v, want %s", revert, err, want)
			}
		})
	}
}

func TestCCIP_GatewayRefusesNamesItDoesNotServe(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	url := s.CCIPGateway().URL
	question, err := s.contract(t, chain.EthMainnet, "WildcardResolver", genesis.OffchainResolver).ABI.Pack("resolve",
		dns(ENSCarol), addrCall(t, ENSCarol))
	must(t, err)
	carol := hexutil.Encode(question)
	for path, want := range map[string]int{
		"/" + genesis.OffchainResolver.Hex() + "/0x.json":         http.StatusBadRequest,
		"/" + genesis.OffchainResolver.Hex() + "/0x9061b923.json": http.StatusBadRequest,
		"/" + PublicResolver.Hex() + "/" + carol + ".json":        http.StatusNotFound,
		"/" + genesis.OffchainResolver.Hex() + "/" + carol:        http.StatusOK,
		"/" + genesis.DirectResolver.Hex() + "/" + carol:          http.StatusNotFound,
		"/nobody/0x9061b923.json":                                 http.StatusBadRequest,
	} {
		t.Run(path, func(t *testing.T) {
			if status, body := get(t, url+path); status != want || !json.Valid(body) {
				t.Errorf("%d %s, want %d", status, body, want)
			}
		})
	}
}

func TestCCIP_OffchainNamesFollowTheGatewayToItsNewPort(t *testing.T) {
	t.Parallel()
	o := Options{DataDir: t.TempDir(), Chains: []chain.ID{chain.EthMainnet}, BlockTime: 50e6}
	for range 2 {
		s, err := Start(t.Context(), o)
		must(t, err)
		url := s.contract(t, chain.EthMainnet, "OffchainResolver", genesis.OffchainResolver).ask(t, "url")[0]
		if url != s.CCIPGateway().URL+"/{sender}/{data}.json" {
			t.Errorf("the chain knows %v, the gateway listens at %s", url, s.CCIPGateway().URL)
		}
		must(t, s.Close())
	}
}
