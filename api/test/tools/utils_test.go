package tools_test

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

const utils = "/toolbox/utils/"

// signer is a key that signs messages as wallets do.
type signer struct {
	sign    func(message string) string
	address string
}

func newSigner(t testing.TB, name string) signer {
	t.Helper()
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte(name)))
	if err != nil {
		t.Fatal(err)
	}
	return signer{
		address: crypto.PubkeyToAddress(key.PublicKey).Hex(),
		sign: func(message string) string {
			hash := wallet.TextHash(message)
			signature, err := crypto.Sign(hash[:], key)
			if err != nil {
				t.Fatal(err)
			}
			signature[64] += 27
			return "0x" + hex.EncodeToString(signature)
		},
	}
}

// object returns a JSON object of alternating names and values.
func object(t testing.TB, members ...string) string {
	t.Helper()
	m := map[string]string{}
	for i := 0; i < len(members); i += 2 {
		m[members[i]] = members[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// query returns path?name=value&… from alternating names and values.
func query(path string, members ...string) string {
	q := url.Values{}
	for i := 0; i < len(members); i += 2 {
		q.Set(members[i], members[i+1])
	}
	return utils + path + "?" + q.Encode()
}

const signInTemplate = "https://app.example wants you to sign in with your Ethereum account:\n<address>\n\nSign " +
	"in.\n\nURI: https://app.example/in\nVersion: 1\nChain ID: 8453\nNonce: 0123456789abcdef\nIssued At: " +
	"2026-01-02T03:04:05.678Z"

func signInMessage(by signer, more string) string {
	return strings.Replace(signInTemplate, "<address>", by.address, 1) + more
}

func TestUtilities_AnswerAsDocumented(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	me, other := newSigner(t, "me"), newSigner(t, "other")
	get := func(path string) apitest.Answer { return g.Ask(http.MethodGet, path, key, "") }
	post := func(path, body string) apitest.Answer { return g.Ask(http.MethodPost, utils+path, key, body) }
	get(utils + "checksum/0xd8da6bf26964af9d7eed9e03e53415d37aa96045").Golden("checksum")
	get(utils + "checksum/0xD8da6bf26964af9d7eed9e03e53415d37aa96045").Golden("checksum wrong")
	get(utils + "checksum/someone.eth").Golden("checksum of no address")
	get(query("convert", "value", "1234567890.000000001", "from", "Gwei", "to", "ether")).Golden("convert")
	get(query("convert", "value", "0.5", "from", "wei", "to", "kwei")).Golden("convert a fraction of a wei")
	get(query("selector", "signature", "event Swap(address indexed by, (uint a, bytes b)[] legs)")).Golden("selector")
	get(query("keccak", "text", "héllo + ; & 😀")).Golden("keccak")
	get(query("keccak", "text", "0x68656c6c6f", "encoding", "hex")).Golden("keccak of bytes")
	post("verify-signature", object(t, "message", "hello", "signature", me.sign("hello"), "address",
		me.address)).Golden("verify signature")
	post("verify-signature", object(t, "message", "hello", "signature", me.sign("hello"))).Golden(
		"verify signature of anybody")
	post("verify-signature", object(t, "message", "hello", "signature", me.sign("hello"), "address",
		other.address)).Golden("verify signature of another")
	message := signInMessage(me, "")
	post("verify-siwe", object(t, "message", message, "signature", me.sign(message))).Golden("verify siwe")
	message = signInMessage(me,
		"\nExpiration Time: 2026-01-02T03:09:05.678Z\nNot Before: 2126-01-02T03:04:05.678Z\nRequest ID: "+
			"7\nResources:\n- https://app.example/terms")
	post("verify-siwe", object(t, "message", message, "signature", other.sign(message))).Golden("verify siwe expired")
	used := g.Usage(key)
	in := expect.In(t, "a unit for each of 13 calls")
	expect.Equal(in, used["ok"].Requests, 13)
	expect.Equal(in, used["ok"].Units, 13*plan.Unit)
	expect.Len(in, used, 1)
	for _, line := range g.Lines(key) {
		expect.Equal(t, line.Service, string(account.Utils))
		expect.Equal(t, line.Class, "toolbox")
		expect.Equal(t, line.Chain, "")
	}
	// A repeated call is not cached, and is charged again.
	if a := get(query("keccak", "text", "0x68656c6c6f", "encoding", "hex")); a.Hit() ||
		g.Usage(key)["ok"].Units != 14*plan.Unit {
		t.Errorf("a repeat: hit %t, used %+v", a.Hit(), g.Usage(key))
	}
}

func TestUtilities_TextsThatLookLikeBytesAreTexts(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key, me := g.Unlimited(), newSigner(t, "me")
	text := g.Ask(http.MethodGet, query("keccak", "text", "0x68656c6c6f"), key, "").Body
	bytes := g.Ask(http.MethodGet, query("keccak", "text", "0x68656c6c6f", "encoding", "hex"), key, "").Body
	hello := g.Ask(http.MethodGet, query("keccak", "text", "hello"), key, "").Body
	hash := func(body string) string {
		_, hash, _ := strings.Cut(body, `"keccak256":`)
		return hash
	}
	expect.NotEqual(t, hash(text), hash(hello))
	expect.Equal(t, hash(bytes), hash(hello))
	expect.NotEqual(t, hash(hello), "")
	for _, c := range []struct {
		signed, encoding string
		valid            bool
	}{
		{"0x68656c6c6f", "", true},
		{"0x68656c6c6f", "utf8", true},
		{"0x68656c6c6f", "hex", false},
		{"hello", "hex", true},
		{"hello", "utf8", false},
	} {
		t.Run(c.signed, func(t *testing.T) {
			members := []string{"message", "0x68656c6c6f", "signature", me.sign(c.signed), "address", me.address}
			if c.encoding != "" {
				members = append(members, "encoding", c.encoding)
			}
			a := g.Ask(http.MethodPost, utils+"verify-signature", key, object(t, members...))
			if want := `"valid":false`; a.Status != http.StatusOK || strings.Contains(a.Body, want) == c.valid {
				t.Errorf("%q signed, judged as %q: %d %s", c.signed, c.encoding, a.Status, a.Body)
			}
		})
	}
}

func TestUtilities_WrongInputIsExplainedAndFree(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key, me := g.Unlimited(), newSigner(t, "me")
	good := me.sign("hello")
	n := 0
	for name, row := range map[string]struct {
		path, body string
		says       string
	}{
		"a long address":            {path: utils + "checksum/" + strings.Repeat("0", 257), says: "address: "},
		"an address of broken text": {path: utils + "checksum/0x%ff", says: `"address" is not UTF-8`},
		"no value":                  {path: utils + "convert?from=eth&to=wei", says: "value: "},
		"an empty value":            {path: utils + "convert?value=&from=eth&to=wei", says: "value: "},
		"no unit":                   {path: utils + "convert?value=1&to=wei", says: "from: "},
		"no such unit":              {path: utils + "convert?value=1&from=eth&to=dollar", says: "to: "},
		"an exponent":               {path: utils + "convert?value=1e18&from=wei&to=eth", says: "value: "},
		"two points":                {path: utils + "convert?value=1.2.3&from=wei&to=eth", says: "value: "},
		"a plus sign":               {path: utils + "convert?value=%2B1&from=wei&to=eth", says: "value: "},
		"a plus sign, not encoded":  {path: utils + "convert?value=+1&from=wei&to=eth", says: "value: "},
		"a value of 161 digits": {
			path: utils + "convert?from=eth&to=wei&value=" + strings.Repeat("1", 161), says: "value: ",
		},
		"a value of Arabic digits": {path: utils + "convert?from=eth&to=wei&value=%D9%A1", says: "value: "},
		"a value of broken text": {
			path: utils + "convert?from=eth&to=wei&value=%ff", says: `"value" is not UTF-8`,
		},
		"a unit of broken text": {
			path: utils + "convert?from=%c3%28&to=wei&value=1", says: `"from" is not UTF-8`,
		},
		"a unit in another script":    {path: utils + "convert?from=%D0%B5th&to=wei&value=1", says: "from: "},
		"a field twice":               {path: utils + "convert?from=eth&to=wei&value=1&value=2", says: "2 times"},
		"a field that there is not":   {path: utils + "convert?from=eth&to=wei&value=1&round=up", says: "round: "},
		"a semicolon, not encoded":    {path: utils + "keccak?text=a;b", says: "%3B"},
		"a percent sign, not encoded": {path: utils + "keccak?text=100%", says: "%25"},
		"no signature":                {path: utils + "selector", says: "signature: "},
		"an empty signature":          {path: utils + "selector?signature=", says: "signature: "},
		"no type":                     {path: query("selector", "signature", "f(uint7)"), says: "uint7"},
		"a contract as a type":        {path: query("selector", "signature", "f(IERC20 token)"), says: "IERC20"},
		"tuples beyond any depth": {
			path: query("selector", "signature", "f"+strings.Repeat("(", 1000)), says: "16",
		},
		"a long signature": {
			path: query("selector", "signature", "f("+strings.Repeat("uint,", 500)+"uint)"), says: "signature: ",
		},
		"no text":                  {path: utils + "keccak", says: "text: "},
		"a long text":              {path: query("keccak", "text", strings.Repeat("x", 8193)), says: "text: "},
		"a text of broken text":    {path: utils + "keccak?text=%ff", says: `"text" is not UTF-8`},
		"an encoding there is not": {path: query("keccak", "text", "x", "encoding", "base64"), says: "encoding: "},
		"half a byte":              {path: query("keccak", "text", "0x123", "encoding", "hex"), says: "text: "},
		"no message": {
			path: "verify-signature", body: object(t, "signature", good), says: "message: ",
		},
		"a message that is a number": {
			path: "verify-signature", body: `{"message":1,"signature":"` + good + `"}`, says: "message: ",
		},
		"a long message": {
			path: "verify-signature", body: object(t, "message", strings.Repeat("x", 16385), "signature", good),
			says: "message: ",
		},
		"a long message in bytes": {
			path: "verify-signature", body: object(t, "message", strings.Repeat("é", 8193), "signature", good),
			says: "message: ",
		},
		"bytes that are none": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", good, "encoding", "hex"),
			says: "message: ",
		},
		"no hexadecimal signature": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", "hello"), says: "signature: ",
		},
		"a signature of half a byte": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", good+"0"), says: "signature: ",
		},
		"a long signature's bytes": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", "0x"+strings.Repeat("00", 8193)),
			says: "signature: ",
		},
		"no address": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", good, "address", "someone.eth"),
			says: "address: ",
		},
		"a short address": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", good, "address",
				me.address[:41]), says: "address: ",
		},
		"Solana's signatures": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", good, "address", me.address,
				"chain", "solana_mainnet"), says: "Solana has no such",
		},
		"a chain and nobody": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", good, "chain", "eth_mainnet"),
			says: "chain: ",
		},
		"a chain that is not here": {
			path: "verify-signature", body: object(t, "message", "hello", "signature", good, "address", me.address,
				"chain", "polygon_pos"), says: "chain: ",
		},
		"no sign-in message": {
			path: "verify-siwe", body: object(t, "message", "hello", "signature", good), says: "Line 1",
		},
		"a line too many": {
			path: "verify-siwe", body: object(t, "message", signInMessage(me, "\n"), "signature", good),
			says: "Line 11",
		},
		"a sign-in without signature": {
			path: "verify-siwe", body: object(t, "message", signInMessage(me, "")), says: "signature: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			method, path := http.MethodGet, row.path
			if row.body != "" {
				method, path = http.MethodPost, utils+row.path
			}
			a := g.Ask(method, path, key, row.body)
			a.Refused(http.StatusUnprocessableEntity, -32602)
			if !strings.Contains(a.Envelope().Error.Message, row.says) {
				t.Errorf("%s does not say %q", a.Body, row.says)
			}
			n++
		})
	}
	if a := g.Ask(http.MethodPost, utils+"verify-signature", key, "{\"message\":\"\xff\",\"signature\":\""+good+
		"\"}"); !strings.Contains(a.Body, "UTF-8") {
		t.Errorf("broken text in a body: %s", a.Body)
	} else {
		a.Refused(http.StatusBadRequest, -32700)
	}
	for outcome, used := range g.Usage(key) {
		if used.Units != 0 || outcome == "ok" {
			t.Errorf("%s: %+v", outcome, used)
		}
		n -= int(used.Requests)
	}
	if n != -1 { // each counts in the rate window
		t.Errorf("%d requests were not counted", n+1)
	}
}

// The validator answers with one byte: 1 accepted, 2 refused. Package wallet tests its answers
// about real contracts.
func TestUtilities_ContractWalletsAreAskedOnTheNamedChain(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Chains = []chain.ID{chain.EthMainnet, chain.BaseMainnet} })
	key, me, contract := g.Unlimited(), newSigner(t, "me"), newSigner(t, "contract")
	verify := func(members ...string) apitest.Answer {
		return g.Ask(http.MethodPost, utils+"verify-signature", key,
			object(t, append([]string{"message", "hello", "signature", me.sign("hello")}, members...)...))
	}
	g.All(testkit.Result("0x01"))
	verify("address", contract.address, "chain", "base_mainnet").Golden("verify signature of a contract")
	if g.Sent("eth_call") != 1 {
		t.Errorf("the chain was asked %d times", g.Sent("eth_call"))
	}
	if a := verify("address", me.address, "chain", "base_mainnet"); !strings.Contains(a.Body, `"verified_by":"key"`) ||
		g.Sent("eth_call") != 1 {
		t.Errorf("a key's: %s after %d calls", a.Body, g.Sent("eth_call"))
	}
	if a := verify("address", contract.address); !strings.Contains(a.Body, `"valid":false`) || g.Sent("eth_call") != 1 {
		t.Errorf("no chain named: %s after %d calls", a.Body, g.Sent("eth_call"))
	}
	message := signInMessage(contract, "")
	a := g.Ask(http.MethodPost, utils+"verify-siwe", key, object(t, "message", message, "signature", me.sign(message),
		"chain", "base_mainnet"))
	in := expect.In(t, "a sign-in")
	expect.Contains(in, a.Body, `"valid":true`)
	expect.Contains(in, a.Body, `"verified_by":"contract"`)
	expect.Equal(in, g.Sent("eth_call"), 2)
	g.All(testkit.Result("0x02"))
	if a := verify("address", contract.address, "chain", "eth_mainnet"); !strings.Contains(a.Body, `"valid":false`) {
		t.Errorf("refused: %s", a.Body)
	}
	g.All(testkit.HTML(http.StatusBadGateway))
	verify("address", contract.address, "chain", "eth_mainnet").Golden("verify signature without its chain")
	a = g.Ask(http.MethodPost, utils+"verify-siwe", key, object(t, "message", message, "signature", me.sign(message),
		"chain", "eth_mainnet"))
	if a.Refused(http.StatusUnprocessableEntity, -32602); !strings.Contains(a.Body, "8453") {
		t.Errorf("another chain's message: %s", a.Body)
	}
	byChain := map[string]plan.Units{}
	for _, line := range g.Lines(key) {
		byChain[line.Chain] += line.Units
	}
	in = expect.In(t, "a unit for each of 5 verdicts and none for what failed")
	expect.Equal(in, byChain[""], plan.Unit)
	expect.Equal(in, byChain["base_mainnet"], 3*plan.Unit)
	expect.Equal(in, byChain["eth_mainnet"], plan.Unit)
}

func TestUtilities_AreSwitchedOffAndCappedAsOneService(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.AccountKey(plan.Pro)
	g.Configure(key, account.Settings{Caps: &map[string]json.Number{"utils": "1"}}, false)
	if a := g.Ask(http.MethodGet, query("keccak", "text", "x"), key, ""); a.Status != http.StatusOK {
		t.Fatal(a.Body)
	}
	g.Ask(http.MethodGet, query("selector", "signature", "f()"), key, "").Refused(http.StatusTooManyRequests, -32014)
	others := g.AccountKey(plan.Pro)
	g.Configure(others, account.Settings{Enabled: &[]string{"rpc"}}, false)
	g.Ask(http.MethodPost, utils+"verify-siwe", others, object(t, "message", "x", "signature", "0x")).Refused(
		http.StatusUnprocessableEntity, -32602)
	g.Ask(http.MethodGet, query("convert", "value", "1", "from", "eth", "to", "wei"), others,
		"").Refused(http.StatusForbidden, -32012)
}

func TestUtilities_SignInsAreJudgedByTheServicesClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 10, 0, time.UTC)
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Now, o.Timeout = func() time.Time { return now }, apitest.StoppedClockTimeout
	})
	key, me := g.Unlimited(), newSigner(t, "me")
	for more, want := range map[string]string{
		"\nExpiration Time: 2026-01-02T03:04:10.001Z": `"valid":true`,
		"\nExpiration Time: 2026-01-02T03:04:10Z":     `"expired":true`,
		"\nNot Before: 2026-01-02T03:04:10Z":          `"valid":true`,
		"\nNot Before: 2026-01-02T03:04:10.001Z":      `"not_yet_valid":true`,
	} {
		t.Run(more, func(t *testing.T) {
			message := signInMessage(me, more)
			if a := g.Ask(http.MethodPost, utils+"verify-siwe", key,
				object(t, "message", message, "signature", me.sign(message))); !strings.Contains(a.Body, want) {
				t.Errorf("%s, want %s", a.Body, want)
			}
		})
	}
}

// The examples in the OpenAPI document are the initial values in its viewer and in the console's
// forms.
func TestUtilities_ExamplesAreAnswered(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, op := range g.Operations.All() {
		meta := op.Meta()
		if meta.Service != account.Utils {
			continue
		}
		members := []string{}
		for name, schema := range op.Input().Properties {
			if len(schema.Examples) != 1 {
				t.Errorf("%s of %s has %d examples", name, meta.Name, len(schema.Examples))
				continue
			}
			example, _ := schema.Examples[0].(string)
			members = append(members, name, example)
		}
		method, path, body := meta.Route.Method, meta.Route.Path, ""
		switch {
		case strings.Contains(path, "{address}"):
			path = strings.Replace(path, "{address}", members[1], 1)
		case method == http.MethodGet:
			path = query(strings.TrimPrefix(path, utils), members...)
		default:
			body = object(t, members...)
		}
		if a := g.Ask(method, path, key, body); a.Status != http.StatusOK || strings.Contains(a.Body, `"valid":false`) {
			t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
		}
	}
}
