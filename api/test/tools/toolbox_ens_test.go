package tools_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

// someone is an address in EIP-55 form.
const someone = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"

// padded encodes values as 32-byte words; strings become whole words after their length.
func padded(values ...any) string {
	var text strings.Builder
	for _, v := range values {
		switch v := v.(type) {
		case string:
			size := (len(v) + 31) / 32 * 64
			fmt.Fprintf(&text, "%064x%-*s", len(v), size, hex.EncodeToString([]byte(v)))
		default:
			fmt.Fprintf(&text, "%064x", v)
		}
	}
	return strings.ReplaceAll(text.String(), " ", "0")
}

// universalResolver scripts the answers of the ENS Universal Resolver, by a part of the question.
func universalResolver(answers map[string]testkit.Reply) testkit.Reply {
	return func(x *testkit.Exchange) {
		var params []json.RawMessage
		var msg struct{ To, Data string }
		if json.Unmarshal(x.Request.Params, &params) == nil && json.Unmarshal(params[0], &msg) == nil &&
			strings.HasPrefix(msg.To, "0xeEeEEE") {
			for part, reply := range answers {
				if strings.Contains(msg.Data, hex.EncodeToString([]byte(part))) {
					reply(x)
					return
				}
			}
		}
		testkit.Result("0x")(x)
	}
}

func reverted(data string) testkit.Reply { return testkit.ErrorWithData(3, "execution reverted", data) }

// openNames returns a gateway with one upstream that knows some names, and a key.
func openNames(t *testing.T) (g *apitest.Gateway, key string) {
	t.Helper()
	g, key = openToolbox(t)
	address := func(last string) string { return strings.Repeat("\x11", 19) + last }
	g.Ups[0].On("eth_call", universalResolver(map[string]testkit.Reply{
		"\x07vitalik\x03eth": testkit.Result("0x" + padded(0x40, 9, 0x20) + strings.Repeat("0", 24) +
			strings.ToLower(someone[2:])),
		"\x06nobody\x03eth":  reverted("0x77209fe8" + padded(0x20, "\x06nobody\x03eth\x00")),
		"\x07refuses\x03eth": reverted("0x95c0c752" + padded(0x20, "no")),
		"\x08offchain\x03eth": reverted("0x556f1830" + strings.Repeat("0", 24) +
			"eeeeeeee14d718c2b47d9923deab1335e144eeee" + padded(0xa0, 0x120, 0, 0x140, 1, 0x20,
			"https://127.0.0.1/{data}", "", "")),
		string(mustHex(someone)): testkit.Result("0x" + padded(0x60, 9, 8, "vitalik.eth")),
		address("\x02"): reverted("0xef9c03ce" + padded(0x40, 0x80, "vitalik.eth",
			strings.Repeat("\x22", 20))),
		address("\x03"): testkit.Result("0x" + padded(0x60, 0, 8, "")),
		address("\x04"): testkit.Result("0x" + padded(0x60, 9, 8, "vitalik.eth\u200b")),
	}))
	return g, key
}

func mustHex(address string) []byte {
	b, err := hex.DecodeString(address[2:])
	if err != nil {
		panic(err)
	}
	return b
}

func TestENS_AnswersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	g, key := openNames(t)
	ones := "0x" + strings.Repeat("11", 19)
	g.Get("/toolbox/ens/resolve/vitalik.eth", key).Golden("ens resolved")
	g.Get("/toolbox/ens/resolve/VITALIK.eTh", key).Golden("ens again in capitals")
	g.Get("/toolbox/ens/resolve/nobody.eth", key).Golden("ens not found")
	g.Get("/toolbox/ens/resolve/refuses.eth", key).Golden("ens resolver refused")
	g.Get("/toolbox/ens/resolve/offchain.eth", key).Golden("ens gateway inside")
	g.Get("/toolbox/ens/reverse/"+strings.ToLower(someone), key).Golden("ens confirmed")
	g.Get("/toolbox/ens/reverse/0x"+strings.ToUpper(someone[2:]), key).Golden("ens confirmed again")
	g.Get("/toolbox/ens/reverse/"+ones+"02", key).Golden("ens not confirmed")
	g.Get("/toolbox/ens/reverse/"+ones+"03", key).Golden("ens no name")
	g.Get("/toolbox/ens/reverse/"+ones+"04", key).Golden("ens not repeated")
	got := g.Usage(key)
	expect.Equal(t, got["ok"], apitest.Figures{Requests: 8, Units: 8 * plan.Unit})
	expect.Equal(t, got["hit"], apitest.Figures{Requests: 2, Units: 0})
	expect.Equal(t, got["refund"], apitest.Figures{Requests: -1, Units: -plan.Unit})
	for _, line := range g.Lines(key) {
		if line.Chain != "eth_mainnet" || line.Service != "ens" {
			t.Errorf("a line of %s and service %s", line.Chain, line.Service)
		}
	}
}

func TestENS_WrongNamesAndAddressesSayWhatIsTaken(t *testing.T) {
	t.Parallel()
	g, key := openNames(t)
	resolve, reverse := "/toolbox/ens/resolve/", "/toolbox/ens/reverse/"
	const ascii, character, label = "Only the ASCII subset", "no name has", "empty label"
	for path, says := range map[string]string{
		resolve + "%F0%9F%A5%B7.eth": ascii, resolve + "vita%E2%80%8Dlik.eth": ascii,
		resolve + "vita%C2%ADlik.eth": ascii, resolve + "vit%D0%B0lik.eth": ascii,
		resolve + "%EF%BD%96italik.eth": ascii, resolve + "vitalik%EF%BC%8Eeth": ascii,
		resolve + "%ff%fe.eth": "not UTF-8", resolve + "vitalik.eth%C0%AE": "not UTF-8",
		resolve + "1%EF%B8%8F%E2%83%A3.eth": ascii, resolve + "caf%C3%A9.eth": ascii,
		resolve + "%2576italik.eth": character, resolve + "vitalik.eth%00": character,
		resolve + "vitalik.eth%0a": character, resolve + "a%20b.eth": character, resolve + "a+b.eth": character,
		resolve + "a%40b.eth": character, resolve + "it's.eth": character, resolve + ".eth": label,
		resolve + "vitalik.eth.": label, resolve + "a..eth": label, resolve + "%2e": label,
		resolve + "a_b.eth": "underscore", resolve + "xn--ls8h.eth": "third and fourth",
		resolve + strings.Repeat("a", 255): "254", resolve + strings.Repeat("a.", 3000) + "eth": "254",
		resolve + "vitalik.eth?chain=base_mainnet": "chain", reverse + "vitalik.eth": "0x and 40 hexadecimal digits",
		reverse + "0x": "0x and 40 hexadecimal digits", reverse + someone[:41]: "0x and 40 hexadecimal digits",
		reverse + someone + "0": "0x and 40 hexadecimal digits", reverse + someone[2:]: "0x and 40 hexadecimal digits",
		reverse + someone[:41] + "g":                        "0x and 40 hexadecimal digits",
		reverse + "0X" + someone[2:]:                        "0x and 40 hexadecimal digits",
		reverse + someone + "%0a":                           "0x and 40 hexadecimal digits",
		reverse + strings.Replace(someone, "dA", "Da", 1):   "EIP-55",
		reverse + strings.Replace(someone, "d8d", "d8D", 1): "EIP-55",
	} {
		t.Run(path, func(t *testing.T) {
			a := g.Get(path, key)
			a.Refused(http.StatusUnprocessableEntity, -32602)
			if message := a.Envelope().Error.Message; !strings.Contains(message, says) || len(message) > 1_000 {
				t.Errorf("%.60s: %s", path, message)
			}
		})
	}
	if n := g.Ups[0].Total(); n != 0 {
		t.Errorf("wrong requests reached an upstream %d times", n)
	}
	for _, path := range []string{resolve, reverse, resolve + "a/b.eth"} {
		if a := g.Get(path, key); a.Status != http.StatusNotFound {
			t.Errorf("%s: HTTP %d", path, a.Status)
		}
	}
	for outcome, f := range g.Usage(key) {
		if f.Units != 0 {
			t.Errorf("%s: %+v", outcome, f)
		}
	}
}
