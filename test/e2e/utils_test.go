//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/toolbox/offline"
)

// utilsLine is a line of utils.js: an input of a utility and each library's result; null when the
// library refused it.
type utilsLine struct {
	Op    string
	Kind  string
	Input struct {
		Address, Value, From, To, Signature, Text, Message string
		Encoding                                           offline.Encoding
	}
	Ethers, Viem json.RawMessage
}

// differences lists where a library and toolbox/offline differ, with the reasons. The test fails
// for a difference that is not listed and for one that no longer occurs. in reports whether a
// difference applies to a line.
var differences = []struct {
	library, name, why string
	in                 func(c *utilsLine) bool
}{
	{
		"ethers", "address without 0x", "the interface's addresses have it, everywhere",
		func(c *utilsLine) bool { return c.Op == "checksum" && len(c.Input.Address) == 40 },
	},
	{
		"viem", "address in capitals", "it carries no checksum, so nothing is wrong with it (EIP-55)",
		func(c *utilsLine) bool {
			return c.Op == "checksum" && strings.HasPrefix(c.Input.Address, "0x") &&
				c.Input.Address[2:] == strings.ToUpper(c.Input.Address[2:])
		},
	},
	{"ethers", "hexadecimal amount", "nodes write balances so", hexAmount},
	{"viem", "hexadecimal amount", "nodes write balances so", hexAmount},
	{"ethers", "comma behind the last type", "Solidity does not take it, so a type is missing", commaBehindLast},
	{"viem", "comma behind the last type", "Solidity does not take it, so a type is missing", commaBehindLast},
	{
		"ethers", "zeros in front of a size",
		"a canonical form is the only one; ethers drops some of them, viem hashes those that it reads", paddedSize,
	},
	{
		"viem", "zeros in front of a size",
		"a canonical form is the only one; ethers drops some of them, viem hashes those that it reads", paddedSize,
	},
	{"ethers", "brackets that do not pair", "what they mean is a guess", oddBrackets},
	{
		"ethers", "types of the ABI that ethers does not have",
		"function and fixed-point numbers are types of the contract ABI, byte was bytes1", func(c *utilsLine) bool {
			return c.Op == "selector" && rareType.MatchString(c.Input.Signature)
		},
	},
	{
		"ethers", "a parameter that is named tuple", "Solidity lets it be",
		func(c *utilsLine) bool { return c.Op == "selector" && namedTuple.MatchString(c.Input.Signature) },
	},
	{
		"ethers", "array of payable addresses", "Solidity has them",
		func(c *utilsLine) bool { return strings.Contains(c.Input.Signature, "payable[") },
	},
	{
		"ethers", "semicolon or white space at the end", "so the line ends that is copied",
		func(c *utilsLine) bool { return strings.TrimRight(c.Input.Signature, " \n;") != c.Input.Signature },
	},
	{
		"viem", "constructor", "it has no selector",
		func(c *utilsLine) bool { return strings.HasPrefix(c.Input.Signature, "constructor") },
	},
	{
		"viem", "loosely written", "white space and the word tuple mean one thing only; ethers reads them as we do",
		func(c *utilsLine) bool { return c.Op == "selector" && c.Kind != "read" && string(c.Viem) == "null" },
	},
	{
		"ethers", "no word in front",
		"most people write transfer(address,uint256); ethers reads it too, told that it is a function",
		func(c *utilsLine) bool { return c.Op == "selector" && !keyword.MatchString(c.Input.Signature) },
	},
	{
		"ethers", "v of EIP-155",
		"ethers takes every odd v for 27 and every even one for 28, as in transactions; personal_sign knows 0, 1, 27 " +
			"and 28", func(c *utilsLine) bool { return c.Op == "verify" && c.Kind == "v of EIP-155" },
	},
	{
		"viem", "64 bytes", "wallets give them too (EIP-2098); viem has functions of their own for them",
		func(c *utilsLine) bool { return c.Op == "verify" && len(c.Input.Signature) == 2+2*64 },
	},
	{
		"viem", "high s", "anybody can make it of another signature (EIP-2)",
		func(c *utilsLine) bool {
			return c.Op == "verify" && len(c.Input.Signature) == 2+2*65 && c.Input.Signature[2+2*32] >= '8'
		},
	},
}

func hexAmount(c *utilsLine) bool { return c.Op == "convert" && strings.HasPrefix(c.Input.Value, "0x") }

func commaBehindLast(c *utilsLine) bool {
	return c.Op == "selector" && trailing.MatchString(c.Input.Signature)
}

func paddedSize(c *utilsLine) bool {
	return c.Op == "selector" && padded.MatchString(c.Input.Signature)
}

func oddBrackets(c *utilsLine) bool {
	return c.Op == "selector" && strings.ContainsAny(dimension.ReplaceAllString(c.Input.Signature, ""), "[]")
}

var (
	trailing   = regexp.MustCompile(`,\s*\)`)
	padded     = regexp.MustCompile(`(int|bytes|\[\s*)0[0-9]`)
	dimension  = regexp.MustCompile(`\[\s*[0-9]*\s*\]`)
	rareType   = regexp.MustCompile(`[(,\s](byte|function|u?fixed[0-9x]*)[),\s\[]`)
	namedTuple = regexp.MustCompile(`\btuple *[,)]`)
	keyword    = regexp.MustCompile(`^\s*(function|event|error)\s`)
)

var utilsSeed = flag.Int("utils-seed", 1, "of the inputs that ethers, viem and toolbox/offline are compared on")

func TestUtilities_AnswerAsEthersAndViem(t *testing.T) {
	t.Parallel()
	install(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "utils.js", strconv.Itoa(*utilsSeed))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("utils.js: %v\n%s", err, stderr.String())
	}
	answered, refused, met := map[string]int{}, map[string]int{}, map[string]int{}
	for line := range bytes.Lines(out) {
		c := &utilsLine{}
		if err := json.Unmarshal(line, c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		ours := c.ours(t)
		if ours == nil {
			refused[c.Op]++
		} else {
			answered[c.Op]++
		}
		for library, theirs := range map[string]json.RawMessage{"ethers": c.Ethers, "viem": c.Viem} {
			if name := c.compare(t, library, ours, theirs); name != "" {
				met[name]++
			}
		}
	}
	t.Logf("answered %v, refused %v; listed differences %v", answered, refused, met)
	for op, least := range map[string][2]int{
		"checksum": {300, 300}, "convert": {3300, 50}, "selector": {5000, 1000},
		"keccak": {1000, 0}, "verify": {400, 400},
	} {
		t.Run(op, func(t *testing.T) {
			if answered[op] < least[0] || refused[op] < least[1] {
				t.Errorf("too few of %s were compared", op)
			}
		})
	}
	for _, d := range differences {
		if met[d.library+": "+d.name] == 0 {
			t.Errorf("the difference of %s in %q (%s) did not occur", d.library, d.name, d.why)
		}
	}
}

// ours returns the result of toolbox/offline in the form of utils.js; nil when it refuses the
// input.
func (c *utilsLine) ours(t *testing.T) any {
	t.Helper()
	in := &c.Input
	switch c.Op {
	case "checksum":
		if got := offline.Checksum(in.Address); got.ValidAddress {
			return *got.Checksummed
		}
	case "convert":
		if got, refusal := offline.Convert(in.Value, in.From, in.To); refusal == nil {
			return got.Result
		}
	case "selector":
		if got, refusal := offline.Select(in.Signature); refusal == nil {
			return got
		}
	case "keccak":
		if data, refusal := in.Encoding.Decode("text", in.Text); refusal == nil {
			return offline.Keccak(in.Text, data).Keccak
		}
	case "verify":
		return c.recovered(t)
	default:
		t.Fatalf("no such utility: %s", c.Op)
	}
	return nil
}

// recovered returns the signer, and checks the verdict about an expected address against it.
func (c *utilsLine) recovered(t *testing.T) any {
	t.Helper()
	in := &c.Input
	message, refusal := in.Encoding.Decode("message", in.Message)
	if refusal != nil {
		t.Fatal(refusal)
	}
	p, refusal := offline.NewPersonal(message, in.Signature, in.Address)
	if refusal != nil {
		t.Fatal(refusal)
	}
	v, err := p.Verify(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.Valid != (v.RecoveredAddress != nil && *v.RecoveredAddress == in.Address) {
		t.Errorf("%s: %s over %q, expected of %s: %+v", c.Kind, in.Signature, in.Message, in.Address, v)
	}
	if v.RecoveredAddress == nil {
		return nil
	}
	return *v.RecoveredAddress
}

// compare returns the name of a listed difference, and fails the test for any other one.
func (c *utilsLine) compare(t *testing.T, library string, ours any, theirs json.RawMessage) string {
	t.Helper()
	text, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	if sameJSON(t, json.RawMessage(text), sorted(t, theirs)) {
		return ""
	}
	for _, d := range differences {
		if d.library == library && d.in(c) {
			return d.library + ": " + d.name
		}
	}
	t.Errorf("%s %s %+q: we answer %s, %s %s", c.Op, c.Kind, c.Input, text, library, theirs)
	return ""
}

// sorted marshals an object with its members in our order.
func sorted(t *testing.T, theirs json.RawMessage) any {
	t.Helper()
	if !bytes.HasPrefix(theirs, []byte("{")) {
		return theirs
	}
	var s offline.Selector
	if err := json.Unmarshal(theirs, &s); err != nil {
		t.Fatal(err)
	}
	return s
}
