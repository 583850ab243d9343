package pages

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"text/template"

	"github.com/chainaccess/gateway/internal/fault"
)

// The snippets are complete programs, except for the gateway's address and the code.
// e2e/docs.test.js copies those in shell and JavaScript from the pages and runs them.
//
//go:embed snippets
var snippetFiles embed.FS

// filled are the values for a snippet's template.
type filled struct {
	URL  string
	Code int
	request
}

// request is a request that is refused with a code that relayed calls never return.
type request struct{ Method, Path, Body string }

// elsewhere has the codes that only other routes than the relay's return. Those with the path of
// the MCP server come from tools only.
var elsewhere = map[int]request{
	fault.PlanLacksService.Entry().Code: {
		http.MethodGet, "/data/eth_mainnet/balances/0x00000000219ab540356cBB839Cbe05303d7705Fa", "",
	},
	fault.NewKeyQuota.Entry().Code: {http.MethodPost, "/keys", ""},
	fault.BindingRefused.Entry().Code: {
		http.MethodPost, "/keys/bind", `{"address":"0x00000000219ab540356cBB839Cbe05303d7705Fa","signature":"0x00"}`,
	},
	fault.NotYours.Entry().Code: {http.MethodGet, "/api/statements/2020-01-01", ""},
	fault.SettlementRedeemed.Entry().Code: {
		http.MethodPost, "/x402/redeem", `{"tx_hash":"0x…","tier":"balanced","signature":"0x…"}`,
	},
	fault.DurableUnavailable.Entry().Code: {
		http.MethodPost, "/keys/bind/start", `{"address":"0x00000000219ab540356cBB839Cbe05303d7705Fa"}`,
	},
	fault.WrongKindOfKey.Entry().Code: {
		http.MethodPost, mcpPath,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_api_key",` +
			`"arguments":{"name":"worker"}}}`,
	},
	fault.NotYetInForce.Entry().Code: {
		http.MethodPost, mcpPath,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"configure_services",` +
			`"arguments":{"enabled":["rpc"]}}}`,
	},
}

// mcpPath is the endpoint of the Model Context Protocol.
const mcpPath = "/mcp"

// snippet reads a file and executes it as a template. id is the id of its element on the page.
func snippet(file, id, what string, with filled) (Snippet, error) {
	t, err := template.New(file).Delims("<<", ">>").ParseFS(snippetFiles, "snippets/"+file)
	if err != nil {
		return Snippet{}, fmt.Errorf("snippet %s: %w", file, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, with); err != nil {
		return Snippet{}, fmt.Errorf("snippet %s: %w", file, err)
	}
	return Snippet{ID: id, What: what, Text: string(bytes.TrimRight(out.Bytes(), "\n"))}, nil
}

// handled names the files of each reaction to a refusal.
var handled = map[handling]string{
	mend: "mend", wait: "wait", stop: "stop", lookUp: "lookup", identify: "identify", payAgain: "payagain",
}

// errorSnippets returns a program's reaction to a code: in curl, viem and ethers, or with fetch
// where these clients never get the code.
func errorSnippets(code int, does handling, publicURL string) ([]Snippet, error) {
	name, clients := handled[does], []struct{ suffix, id, what string }{
		{"sh", "curl", "curl"}, {"viem.js", "viem", "viem"}, {"ethers.js", "ethers", "ethers"},
	}
	asked, other := elsewhere[code]
	if other {
		clients = []struct{ suffix, id, what string }{{"sh", "curl", "curl"}, {"js", "javascript", "JavaScript"}}
		if name = "route"; asked.Path == mcpPath {
			name = "tool"
		}
	}
	var all []Snippet
	for _, client := range clients {
		s, err := snippet(name+"."+client.suffix, client.id, client.what, filled{publicURL, code, asked})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// started is a client of the quickstart.
type started struct {
	ID, Title string
	Install   *Snippet
	Program   Snippet
	Notes     []string
}

// quickStarts returns the first call with each client.
func quickStarts(publicURL string) ([]started, error) {
	clients := []struct {
		started

		file, install string
	}{
		{started{ID: "curl", Title: "curl", Notes: []string{
			"`-i` shows the headers: `X-Request-Id` names the call in a ticket, `X-Service-Cache: hit` means that " +
				"it was free.",
		}}, "start.sh", ""},
		{started{ID: "viem", Title: "viem", Notes: []string{
			"viem waits and retries automatically when the rate limit is reached (-32005); `retryCount` sets how " +
				"often. `batch: true` sends calls together; each item counts.",
		}}, "start.viem.js", "npm install viem"},
		{started{ID: "ethers", Title: "ethers", Notes: []string{
			"`batchMaxCount: 1` sends each call alone: ethers makes batches by default and does not retry their " +
				"items. For events add `polling: true`, because filters are not served.",
		}}, "start.ethers.js", "npm install ethers"},
		{started{ID: "web3py", Title: "web3.py", Notes: []string{
			"A refusal is an HTTP error: `error.response.json()[\"error\"]` has its code, message and what to do next.",
		}}, "start.py", "pip install web3"},
		{started{ID: "solana-kit", Title: "Solana kit", Notes: []string{
			"A refusal is a `SolanaError` with the HTTP status and the headers in its `context`.",
		}}, "start.solana.js", "npm install @solana/kit"},
	}
	var all []started
	for _, c := range clients {
		s, err := snippet(c.file, "start-"+c.ID, "the program for "+c.Title, filled{URL: publicURL})
		if err != nil {
			return nil, err
		}
		one := c.started
		one.Program = s
		if c.install != "" {
			one.Install = &Snippet{ID: "install-" + c.ID, What: "the command that installs " + c.Title, Text: c.install}
		}
		all = append(all, one)
	}
	return all, nil
}

// payProgram is the guide to paying per call as one program.
func payProgram(publicURL string) (Snippet, error) {
	return snippet("pay.ethers.js", "pay-ethers", "the program that pays", filled{URL: publicURL})
}

func indented(text string) string {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		return text // generated here, so it is valid JSON
	}
	return out.String()
}
