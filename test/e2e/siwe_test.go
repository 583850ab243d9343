//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// siweLine is a line of siwe.js: a message that npm siwe parsed, or one that it verified.
type siweLine struct {
	Kind    string
	Message string
	Fields  *siweFields

	Signature string
	Time      time.Time
	Valid     bool
}

// siweFields are the fields of a message by their names in npm siwe; nil for undefined.
type siweFields struct {
	Scheme         *string  `json:"scheme"`
	Domain         string   `json:"domain"`
	Address        string   `json:"address"`
	Statement      *string  `json:"statement"`
	URI            string   `json:"uri"`
	ChainID        float64  `json:"chainId"`
	Nonce          string   `json:"nonce"`
	IssuedAt       string   `json:"issuedAt"`
	ExpirationTime *string  `json:"expirationTime"`
	NotBefore      *string  `json:"notBefore"`
	RequestID      *string  `json:"requestId"`
	Resources      []string `json:"resources"`
}

// stricter lists what npm siwe accepts and package wallet refuses, with the reasons. The test fails
// for a difference that is not listed and for one that no longer occurs.
var stricter = []struct {
	name, why string
	in        func(message string) bool
}{
	{
		"loose IPv4 at the end of IPv6",
		"RFC 3986 has four octets without leading zeros there; npm siwe takes empty and padded ones",
		func(message string) bool {
			for _, found := range ipv4InIPv6.FindAllStringSubmatch(message, -1) {
				if slices.ContainsFunc(strings.Split(found[1], "."), func(octet string) bool {
					return octet == "" || (octet[0] == '0' && len(octet) > 1)
				}) {
					return true
				}
			}
			return false
		},
	},
	{
		"chain id with leading zeros",
		"a number is written in one way, so that a message renders to the bytes that were signed",
		regexp.MustCompile(`(?m)^Chain ID: 0[0-9]+$`).MatchString,
	},
	{
		"chain id beyond 64 bits", "npm siwe rounds it to another chain's",
		regexp.MustCompile(`(?m)^Chain ID: (18446744073709551616|[1-9][0-9]{20,})$`).MatchString,
	},
	{
		"long nonce", "lengths are bounded: 256 characters",
		regexp.MustCompile(`(?m)^Nonce: [a-zA-Z0-9]{257,}$`).MatchString,
	},
	{
		"long date-time", "lengths are bounded: 64 characters",
		regexp.MustCompile(`(?m)^(Issued At|Expiration Time|Not Before): .{65,}$`).MatchString,
	},
	{
		"long message", "lengths are bounded: 16 KiB",
		func(message string) bool { return len(message) > 16<<10 },
	},
	{
		"leap second anywhere",
		"RFC 3339 has one only at the end of a month in UTC; JavaScript has none, so siwe lets such a message never " +
			"expire", regexp.MustCompile(`(?m)^(Issued At|Expiration Time|Not Before): [^ ]{17}60`).MatchString,
	},
}

var ipv4InIPv6 = regexp.MustCompile(`\[[0-9a-fA-F:]*:([0-9]*(?:\.[0-9]*){3})\]`)

var siweSeed = flag.Int("siwe-seed", 1, "of the messages that npm siwe and package wallet are compared on")

func TestSIWE_JudgesMessagesAndSignaturesAsNpmSiwe(t *testing.T) {
	t.Parallel()
	install(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "siwe.js", strconv.Itoa(*siweSeed))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("siwe.js: %v\n%s", err, stderr.String())
	}
	var accepted, refused, valid, invalid int
	met := map[string]int{}
	for line := range bytes.Lines(out) {
		var c siweLine
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch {
		case c.Signature != "":
			compareVerdict(t, &c, met)
			count(c.Valid, &valid, &invalid)
		default:
			compareReading(t, &c, met)
			count(c.Fields != nil, &accepted, &refused)
		}
	}
	t.Logf("read %d, refused %d; valid %d, invalid %d; listed differences %v", accepted, refused, valid, invalid, met)
	in := expect.In(t, "too few of a kind were compared")
	expect.AtLeast(in, accepted, 1500)
	expect.AtLeast(in, refused, 1500)
	expect.AtLeast(in, valid, 100)
	expect.AtLeast(in, invalid, 100)
	for _, d := range stricter {
		if met[d.name] == 0 {
			t.Errorf("the difference %q (%s) did not occur", d.name, d.why)
		}
	}
	if met[otherV] == 0 {
		t.Errorf("the difference %q did not occur", otherV)
	}
}

func count(yes bool, yeses, noes *int) {
	if yes {
		*yeses++
	} else {
		*noes++
	}
}

func compareReading(t *testing.T, c *siweLine, met map[string]int) {
	t.Helper()
	m, err := wallet.Parse(c.Message)
	switch {
	case c.Fields == nil && err == nil:
		t.Errorf("%s: npm siwe refuses what we read: %q", c.Kind, c.Message)
	case c.Fields == nil:
	case err != nil:
		for _, d := range stricter {
			if d.in(c.Message) {
				met[d.name]++
				return
			}
		}
		t.Errorf("%s: npm siwe reads what we refuse (%v): %q", c.Kind, err, c.Message)
	default:
		if got := fieldsOf(m); !sameJSON(t, got, c.Fields) {
			t.Errorf("%s: we read %+v, npm siwe %+v in %q", c.Kind, got, c.Fields, c.Message)
		}
		if m.String() != c.Message {
			t.Errorf("%s: %q renders to %q", c.Kind, c.Message, m)
		}
	}
}

// otherV is the only difference in signatures: ethers maps every odd v to 27 and every even one to
// 28, as in EIP-155 transactions. personal_sign allows 0, 1, 27 and 28.
const otherV = "v of EIP-155"

func compareVerdict(t *testing.T, c *siweLine, met map[string]int) {
	t.Helper()
	m, err := wallet.Parse(c.Message)
	if err != nil {
		t.Fatalf("%s: %v", c.Kind, err)
	}
	err = m.Current(c.Time)
	if err == nil {
		err = wallet.VerifyMessage(t.Context(), nil, m.Address, c.Message, c.Signature)
	}
	switch {
	case (err == nil) == c.Valid:
	case c.Kind == otherV && c.Valid:
		met[otherV]++
	default:
		t.Errorf("%s: we say %v, npm siwe %v of %s over %q at %s", c.Kind, err, c.Valid, c.Signature, c.Message, c.Time)
	}
	compareUtility(t, c, m, err == nil)
}

// compareUtility compares the answer of verify-siwe with the verdict.
func compareUtility(t *testing.T, c *siweLine, m *wallet.Message, valid bool) {
	t.Helper()
	signed, refusal := offline.NewSignIn(c.Message, c.Signature)
	if refusal != nil {
		if c.Valid || strings.HasPrefix(c.Signature, "0x") {
			t.Errorf("%s: the utility refuses %s over %q: %v", c.Kind, c.Signature, c.Message, refusal)
		}
		return
	}
	v, err := signed.Verify(t.Context(), nil, c.Time)
	if err != nil {
		t.Fatal(err)
	}
	inTime := !v.Expired && !v.NotYetValid
	bySigner := v.RecoveredAddress != nil && *v.RecoveredAddress == m.Address.Checksummed()
	in := expect.In(t, "%s: the utility", c.Kind)
	expect.Equal(in, v.Valid, valid)
	expect.Equal(in, v.Valid, inTime && bySigner)
	expect.Equal(in, inTime, m.Current(c.Time) == nil)
	expect.Equal(in, v.Fields.Nonce, m.Nonce)
	expect.Equal(in, v.Fields.ChainID, m.ChainID)
}

func fieldsOf(m *wallet.Message) *siweFields {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return &siweFields{
		Scheme: optional(m.Scheme), Domain: m.Domain, Address: m.Address.Checksummed(), Statement: m.Statement,
		URI: m.URI, ChainID: float64(m.ChainID), // npm siwe has only numbers
		Nonce: m.Nonce, IssuedAt: m.IssuedAt.String(), ExpirationTime: optional(m.ExpirationTime.String()),
		NotBefore: optional(m.NotBefore.String()), RequestID: m.RequestID, Resources: m.Resources,
	}
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	var texts [2]strings.Builder
	for i, v := range []any{a, b} {
		if err := json.NewEncoder(&texts[i]).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return texts[0].String() == texts[1].String()
}
