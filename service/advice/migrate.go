package advice

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox/provider"
)

// MigrateInput is the text of a configuration.
type MigrateInput struct {
	Config string `json:"config" minLength:"1" maxLength:"20000" doc:"text of a configuration or of code with RPC endpoints, up to 20,000 characters: .env, JSON, YAML, TOML, viem, ethers, web3.py, Hardhat, Foundry. It is read as text, never run, kept or logged" example:"ETH_RPC_URL=https://eth-mainnet.g.alchemy.com/v2/YOUR_KEY"`
}

// Migration describes how to move from other providers. Of the configuration it repeats only masked
// addresses and method names.
type Migration struct {
	Ready     bool            `json:"ready" doc:"whether every endpoint and every method that was found is understood, and served here as it is"`
	Summary   string          `json:"summary"`
	Endpoints []MovedEndpoint `json:"endpoints" doc:"up to 50, each address once"`
	Methods   []MovedMethod   `json:"methods" doc:"JSON-RPC methods that are named, up to 200; of some that are refused the family alone, such as personal_*"`
	Others    int             `json:"other_methods" doc:"names that look like methods and that nobody here knows; they are counted and not repeated, since any word may stand there"`
	Changes   []MigrationEdit `json:"changes" doc:"what to change, in order"`
	NextSteps []string        `json:"next_steps"`
	Clients   []string        `json:"clients" doc:"libraries and tools that the text uses"`
	Formats   []string        `json:"formats" doc:"what the text looks like: env, json, yaml, toml, javascript, python"`
	Secrets   SecretsFound    `json:"secrets_found" doc:"counts of what looks secret; the values are nowhere in this answer"`
	Truncated bool            `json:"truncated" doc:"whether there was more than the lists hold"`
}

// MovedEndpoint is an endpoint of another provider.
type MovedEndpoint struct {
	Source      string    `json:"source" doc:"its address, or the client's constructor that names its provider, with *** for whatever may be secret"`
	Provider    string    `json:"provider" doc:"who serves it; unknown, or local for a machine of your own"`
	Lines       []int     `json:"lines" doc:"where it stands, the first ten"`
	Chain       *chain.ID `json:"chain" nullable:"true" doc:"chain of the gateway; null when it is another network or the address does not tell"`
	Network     string    `json:"network,omitempty" doc:"what the address calls the network"`
	WebSocket   bool      `json:"websocket"`
	Served      bool      `json:"served" doc:"whether the gateway serves it as it is"`
	Replacement *string   `json:"replacement" nullable:"true" doc:"the gateway's address for it; of a websocket the HTTP address to poll; null when there is none"`
	KeyInURL    bool      `json:"key_in_url" doc:"whether the address or the constructor carries a credential; here the key goes into a header"`
	Note        string    `json:"note"`
}

// MovedMethod is a method that the text names.
type MovedMethod struct {
	Name    string   `json:"name"`
	Chain   chain.ID `json:"chain" doc:"chain that it was weighed on"`
	Weight  *int     `json:"weight" nullable:"true" doc:"units of a call on the balanced tier that its parameters do not make heavier; null when not offered"`
	Offered bool     `json:"offered"`
	Note    string   `json:"note"`
}

// MigrationEdit is one change to the text.
type MigrationEdit struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// SecretsFound counts the secrets in the text.
type SecretsFound struct {
	PrivateKeys int `json:"private_keys"`
	Mnemonics   int `json:"mnemonics"`
	Credentials int `json:"credentials" doc:"keys of providers, tokens, passwords"`
}

func (h *handlers) migrate() *operation.Operation[MigrateInput, Migration] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "migrate", Title: "Plan a move from other providers", Access: operation.Everybody, PerNetwork: true,
		Reads:    true,
		Computes: true,
		Description: "Reads a pasted configuration: maps every RPC endpoint to the gateway's, weighs every JSON-RPC " +
			"method, and says what to change. Whatever looks like a secret is masked; nothing is run, kept or " +
			"logged. It costs nothing and changes nothing; a network, or a key, may send 10 texts a minute.",
	}, func(ctx context.Context, c *operation.Call, in MigrateInput) (Migration, error) {
		if refusal := h.Limit(ctx, "migrate:"+c.LimitSubject, MigrateLimit); refusal != nil {
			return Migration{}, refusal
		}
		select {
		case h.readers <- struct{}{}:
			defer func() { <-h.readers }()
			return h.runMigrate(in.Config), nil
		case <-ctx.Done():
			return Migration{}, allReading().Wrap(ctx.Err())
		}
	})
}

// MigrateLimit is the rate limit for reading texts, per network or key. Each text takes
// milliseconds of CPU and requires no key.
var MigrateLimit = account.RateWindow{Limit: 10, Per: time.Minute}

// maxReaders is how many texts a process reads concurrently. It leaves CPU for other requests.
func maxReaders() int { return max(1, runtime.GOMAXPROCS(0)/2) }

func allReading() *fault.Error {
	f := fault.New(fault.RateWindow, "Too many texts are being read at this moment. Wait a second and try again.")
	f.RetryAfter = time.Second
	return f
}

func (h *handlers) runMigrate(config string) Migration {
	found := provider.Read(config)
	m := Migration{
		Endpoints: []MovedEndpoint{}, Methods: []MovedMethod{}, Changes: []MigrationEdit{}, Clients: found.Clients,
		Formats: found.Formats, Truncated: found.Truncated, Others: found.OtherMethods,
		Secrets: SecretsFound(found.Secrets),
	}
	var chains []chain.ID // of the endpoints, in order
	for i := range found.Endpoints {
		e := &found.Endpoints[i]
		if e.Chain != "" && !slices.Contains(chains, e.Chain) {
			chains = append(chains, e.Chain)
		}
		m.Endpoints = append(m.Endpoints, h.moved(e))
	}
	for _, name := range found.Methods {
		m.Methods = append(m.Methods, h.movedMethod(name, chains))
	}
	m.conclude()
	m.edit(h.PublicURL)
	m.advise(h.PublicURL)
	return m
}

// moved maps an endpoint to the gateway.
func (h *handlers) moved(e *provider.Endpoint) MovedEndpoint {
	to := MovedEndpoint{
		Source: e.Source, Provider: e.Provider.Key, Lines: e.Lines, Network: e.Network, WebSocket: e.WebSocket,
		KeyInURL: e.KeyInURL,
	}
	if e.Chain != "" {
		to.Chain = &e.Chain
	}
	_, here := h.Pool.Chain(e.Chain)
	if here {
		address := h.PublicURL + "/rpc/" + string(e.Chain)
		to.Replacement = &address
	}
	to.Served = here && !e.WebSocket && !e.Guessed
	switch {
	case e.Guessed && here:
		to.Note = "It names this network, but nothing says that it is a node's. Where it is one, replace it; where " +
			"it is not, leave it."
	case e.Guessed && e.Network == "":
		to.Note = "Nothing says whether this is a node's address, or of which chain. Where it is one, choose among " +
			strings.Join(names(h.Pool.Chains()), ", ") + ", or keep it."
	case here && e.WebSocket:
		to.Note = "There are no websockets. Send the same calls to the HTTP address; instead of subscriptions poll " +
			"eth_blockNumber and eth_getLogs, or getSlot and getSignatureStatuses."
	case here:
		to.Note = "Send the key as Authorization: Bearer <API_KEY>; it never goes into the address."
	case e.Provider.Key == "local":
		to.Note = "A node of your own: leave it as it is."
	case e.Chain != "":
		to.Note = fmt.Sprintf("This gateway has no upstream for %s now. Keep the endpoint.", e.Chain)
	case e.Network != "":
		to.Note = "This network is not served. Keep the endpoint; manage_feedback with kind chain asks for a network."
	default:
		to.Note = "The address does not tell its chain. Choose among " + strings.Join(names(h.Pool.Chains()), ", ") +
			", or keep the endpoint."
	}
	if e.KeyInURL && !e.Keyless && to.Served {
		to.Note += " A credential stood in the address: revoke it at the provider once you moved."
	}
	return to
}

func names(ids []chain.ID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}

// movedMethod weighs a method on the first of the given chains that has it, otherwise on any chain
// that has it.
func (h *handlers) movedMethod(name string, chains []chain.ID) MovedMethod {
	m := MovedMethod{Name: name, Chain: chain.EthMainnet}
	if !strings.Contains(name, "_") {
		m.Chain = chain.SolanaMainnet
	}
	for _, c := range h.Pool.Known().All() {
		chains = append(chains, c.ID)
	}
	for _, id := range chains {
		c, ok := h.Pool.Known().Lookup(string(id))
		if !ok {
			continue
		}
		if _, ok := c.Method([]byte(name)); ok {
			m.Chain = id
			break
		}
	}
	o := h.offerOf(m.Chain, name)
	m.Offered, m.Note = o.offered, strings.NewReplacer("at docs", "with get_quote", "at contact",
		"with manage_feedback").Replace(o.note)
	if o.offered {
		weight := weightOf(o.method)
		m.Weight = &weight
	}
	return m
}

// conclude sets whether everything can move.
func (m *Migration) conclude() {
	served, own, methods, refused := 0, 0, 0, 0
	for i := range m.Endpoints {
		switch e := &m.Endpoints[i]; {
		case e.Served:
			served++
		case e.Provider == "local":
			own++
		}
	}
	for i := range m.Methods {
		methods++
		if !m.Methods[i].Offered {
			refused++
		}
	}
	foreign := len(m.Endpoints) - own
	m.Ready = served > 0 && served == foreign && refused == 0 && m.Others == 0 && !m.Truncated
	switch {
	case foreign == 0 && methods == 0 && m.Others == 0:
		m.Summary = "No RPC endpoint and no JSON-RPC method was recognised in this text."
	case foreign == 0:
		m.Summary = fmt.Sprintf("No RPC endpoint was recognised; of %d methods %d are offered.", methods,
			methods-refused)
	default:
		m.Summary = fmt.Sprintf("%d of %d endpoints can move as they are, and %d of %d methods are offered.", served,
			foreign, methods-refused, methods)
	}
	if m.Others > 0 {
		m.Summary += fmt.Sprintf(" %d more names look like methods and are not known here.", m.Others)
	}
	if m.Secrets.PrivateKeys+m.Secrets.Mnemonics > 0 {
		m.Summary += fmt.Sprintf(
			" Warning: the text holds what looks like %d private keys and %d mnemonics. Take them for known to "+
				"others, and move what they hold to a new wallet.",
			m.Secrets.PrivateKeys, m.Secrets.Mnemonics)
	}
}

// edit adds the changes: each address, then how each client sends the key.
func (m *Migration) edit(publicURL string) {
	example := publicURL + "/rpc/eth_mainnet"
	moves := false
	for i := range m.Endpoints {
		e := &m.Endpoints[i]
		if e.Replacement == nil {
			continue
		}
		if !moves {
			moves, example = true, *e.Replacement
		}
		m.Changes = append(m.Changes, MigrationEdit{
			What: "Address of " + e.Provider + ", line " + lines(e.Lines), Before: e.Source, After: *e.Replacement,
		})
	}
	if !moves && len(m.Clients) == 0 { // without an address, still show how the clients send the key
		return
	}
	known := false
	for _, client := range m.Clients {
		if how, ok := howToSendKey(client, example); ok {
			known = true
			m.Changes = append(m.Changes, MigrationEdit{
				What: "Key in a header, with " + client, Before: "the key in the address, or none", After: how,
			})
		}
	}
	if !known {
		m.Changes = append(m.Changes, MigrationEdit{
			What: "Key in a header", Before: "the key in the address, or none",
			After: "Authorization: Bearer <API_KEY>, from a variable such as CHAIN_ACCESS_KEY",
		})
	}
}

func lines(at []int) string {
	var texts []string
	for _, n := range at {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ", ")
}

// howToSendKey returns how a client library sends a header with every call.
func howToSendKey(client, url string) (string, bool) {
	const js, py = "`Bearer ${process.env.CHAIN_ACCESS_KEY}`", `"Bearer " + os.environ["CHAIN_ACCESS_KEY"]`
	switch client {
	case "viem", "wagmi":
		return "http('" + url + "', { fetchOptions: { headers: { Authorization: " + js + " } } })", true
	case "ethers":
		return "const request = new FetchRequest('" + url + "'); request.setHeader('Authorization', " + js +
			"); new JsonRpcProvider(request)", true
	case "web3.js":
		return "new Web3(new HttpProvider('" + url + "', { providerOptions: { headers: { Authorization: " + js +
			" } } }))", true
	case "web3.py":
		return `Web3(Web3.HTTPProvider("` + url +
			`", request_kwargs={"headers": {"Content-Type": "application/json", "Authorization": ` + py + `}}))`, true
	case "hardhat":
		return "{ url: '" + url + "', httpHeaders: { Authorization: " + js + " } }", true
	case "foundry":
		return `cast … --rpc-url ` + url + ` --rpc-headers "Authorization: Bearer $CHAIN_ACCESS_KEY"`, true
	case "solana-web3.js":
		return "new Connection('" + url + "', { httpHeaders: { Authorization: " + js + " } })", true
	case "solana-kit":
		return "createSolanaRpcFromTransport(createDefaultRpcTransport({ url: '" + url +
			"', headers: { authorization: " + js + " } }))", true
	case "alchemy-sdk":
		return "The SDK speaks to its own provider only. Use viem or ethers with " + url, true
	}
	return "", false
}

// advise adds the next steps, in order.
func (m *Migration) advise(publicURL string) {
	step := func(format string, args ...any) { m.NextSteps = append(m.NextSteps, fmt.Sprintf(format, args...)) }
	if n := m.Secrets.PrivateKeys + m.Secrets.Mnemonics; n > 0 {
		step("Move what the %d keys and mnemonics in this text hold to a new wallet, and keep the new ones out of "+
			"configurations.", n)
	}
	step("Get a key: the tool get_key, or POST %s/keys. Put it into a variable such as CHAIN_ACCESS_KEY.", publicURL)
	if len(m.Changes) > 0 {
		step("Make the changes above, and send the key as Authorization: Bearer <API_KEY> with every request.")
	}
	//nolint:gocritic // read by value
	if slices.ContainsFunc(m.Endpoints, func(e MovedEndpoint) bool { return e.WebSocket }) {
		step("Replace subscriptions by polling: the gateway has no websockets.")
	}
	//nolint:gocritic // read by value
	if slices.ContainsFunc(m.Methods, func(x MovedMethod) bool { return !x.Offered }) {
		step("Replace the methods that are not offered, as their notes say.")
	}
	step("Try one call: rpc_call with eth_blockNumber, or getSlot on Solana. Then compare plans with list_plans and " +
		"single methods with get_quote.")
	if m.Secrets.Credentials > 0 {
		step("Revoke the keys of the providers that you left: this text held %d credentials.", m.Secrets.Credentials)
	}
}
