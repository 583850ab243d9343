package offline_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/toolbox/offline"
)

func TestSelector_KnownSignaturesHaveTheirKnownSelectorsAndTopics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ written, canonical, selector, topic string }{
		{"transfer(address,uint256)", "transfer(address,uint256)", "0xa9059cbb", ""},
		{
			"function transfer(address to, uint amount) external returns (bool);", "transfer(address,uint256)",
			"0xa9059cbb", "",
		},
		{"balanceOf(address)", "balanceOf(address)", "0x70a08231", ""},
		{"error Error(string)", "Error(string)", "0x08c379a0", ""},
		{"Panic(uint)", "Panic(uint256)", "0x4e487b71", ""},
		{
			"aggregate3((address target, bool allowFailure, bytes callData)[] calls)",
			"aggregate3((address,bool,bytes)[])", "0x82ad56cb", "",
		},
		{
			"event Transfer(address indexed from, address indexed to, uint256 value)",
			"Transfer(address,address,uint256)", "0xddf252ad",
			"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
		},
		{
			"Approval(address,address,uint)", "Approval(address,address,uint256)", "0x8c5be1e5",
			"0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925",
		},
	} {
		t.Run(c.canonical, func(t *testing.T) {
			got, refusal := offline.Select(c.written)
			if refusal != nil {
				t.Errorf("%s: %v", c.written, refusal)
				return
			}
			in := expect.In(t, "%s", c.written)
			expect.Equal(in, got.Signature, c.canonical)
			expect.Equal(in, got.Selector, c.selector)
			expect.HasPrefix(in, got.Topic0, c.selector)
			expect.Len(in, got.Topic0, 66)
			if c.topic != "" && got.Topic0 != c.topic {
				t.Errorf("%s: topic %s, want %s", c.written, got.Topic0, c.topic)
			}
		})
	}
}

func TestSelector_SignaturesAreBroughtIntoCanonicalForm(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"f()":             "f()",
		" f ( ) ":         "f()",
		"\n\tf\r\n(\n)\n": "f()",
		"f(uint,int,uint8,int248,byte,fixed,ufixed,fixed8x0,ufixed256x80)": "" +
			"f(uint256,int256,uint8,int248,bytes1,fixed128x18,ufixed128x18,fixed8x0,ufixed256x80)",
		"f(address,bool,string,bytes,bytes1,bytes32,function)": "" +
			"f(address,bool,string,bytes,bytes1,bytes32,function)",
		"f(uint[],uint[3],uint[][2][],uint [ ] [ 10 " +
			"])": "f(uint256[],uint256[3],uint256[][2][],uint256[][10])",
		"f((uint,address))": "f((uint256,address))",
		"f(tuple(uint a, tuple(int[] b, bool c)[2] d)[] e, string f)": "f((uint256,(int256[],bool)[2])[],string)",
		"f(())":           "f(())",
		"f(((((uint)))))": "f(((((uint256)))))",
		"f(uint256 memory_, bytes calldata data, string memory, uint[] storage s)": "f(uint256,bytes,string,uint256[])",
		"f(address payable to, address payable, address payable[] all)":            "f(address,address,address[])",
		"event E(uint indexed a, bytes32 indexed)":                                 "E(uint256,bytes32)",
		"E(uint indexed a)": "E(uint256)",
		"function f(uint a) external view virtual returns (uint[] memory b, (int) c);": "f(uint256)",
		"f(uint) public pure":     "f(uint256)",
		"$_9(uint $_)":            "$_9(uint256)",
		"error(uint)":             "error(uint256)",
		"error error(uint error)": "error(uint256)",
		"fallback()":              "fallback()",
		"f(uint[0])":              "f(uint256[0])",
		"f(function cb)":          "f(function)",
		"f(uint256 tuple)":        "f(uint256)",
	} {
		t.Run(written, func(t *testing.T) {
			got, refusal := offline.Canonical(written)
			if refusal != nil || got != want {
				t.Errorf("%q, %v; want %q", got, refusal, want)
			}
		})
	}
}

func TestSelector_InvalidSignatureIsRefusedAndSaysWhy(t *testing.T) {
	t.Parallel()
	for written, why := range map[string]string{
		"":                              "begins with the name",
		"()":                            "begins with the name",
		"(uint256)":                     "begins with the name",
		"9f()":                          "begins with the name",
		"function":                      "begins with the name",
		"function 9f()":                 "begins with the name",
		"function(uint)":                "begins with the name",
		"event (uint)":                  "begins with the name",
		"f(uint)\x00":                   "is over",
		"f(uint) \x00 view":             "is over",
		"transfer":                      `'(' is missing`,
		"f(":                            "type is missing",
		"f(uint":                        "missing between two types",
		"f(uint,":                       "type is missing",
		"f(uint,)":                      "type is missing",
		"f(,uint)":                      "type is missing",
		"f(uint,,uint)":                 "type is missing",
		"f)":                            `'(' is missing`,
		"f(uint))":                      "is over",
		"f(uint) g(uint)":               `"g" is nothing`,
		"f(uint);;":                     "is over",
		"f(uint){}":                     "is over",
		"f(uint) onlyOwner":             `"onlyOwner" is nothing`,
		"f(uint) returns":               `'(' is missing`,
		"f(uint) returns (uint7)":       `"uint7"`,
		"f(uint7)":                      `"uint7"`,
		"f(uint0)":                      `"uint0"`,
		"f(uint08)":                     `"uint08"`,
		"f(uint264)":                    `"uint264"`,
		"f(uint1000000000000000000000)": "is no type",
		"f(bytes0)":                     `"bytes0"`,
		"f(bytes33)":                    `"bytes33"`,
		"f(bytes032)":                   `"bytes032"`,
		"f(fixed128)":                   `"fixed128"`,
		"f(fixed128x81)":                `"fixed128x81"`,
		"f(fixed129x18)":                `"fixed129x18"`,
		"f(ufixed128x)":                 `"ufixed128x"`,
		"f(fixed128x1x1)":               `"fixed128x1x1"`,
		"f(IERC20 token)":               `"IERC20" is no type`,
		"f(struct S)":                   `"struct" is no type`,
		"f(mapping(address=>uint))":     `"mapping" is no type`,
		"f(tuple)":                      `"tuple" is no type`,
		"f(string32)":                   `"string32"`,
		"f(address20)":                  `"address20"`,
		"f(Uint256)":                    `"Uint256"`,
		"f(uint 256)":                   `"256" is no name`,
		"f(address uint256)":            "comma is missing",
		"f(uint a b)":                   "missing between two types",
		"f(uint payable a)":             "missing between two types",
		"f(uint[-1])":                   "is missing behind an array's length",
		"f(uint[01])":                   `"01" is no length`,
		"f(uint[a])":                    `"a" is no length`,
		"f(uint[)":                      "is missing behind an array's length",
		"f(uint])":                      "missing between two types",
		"f(function(uint) external returns(uint) cb)": "the one word function",
		"function f(uint indexed a)":                  "Only parameters of events",
		"event f((uint indexed a) b)":                 "no member",
		"error f(uint indexed a)":                     "Only parameters of events",
		"event E(uint) anonymous":                     "anonymous",
		"constructor(uint)":                           "constructor",
		"f(uint\u0430)":                               "missing between two types",
		"f(\u0430ddress)":                             "type is missing",
		"f\u200b(uint)":                               `'(' is missing`,
		"f(uint\x00)":                                 "missing between two types",
		"0xa9059cbb":                                  "begins with the name",
		"f(" + strings.Repeat("(", 17) + "uint" + strings.Repeat(")", 18): "More than 16",
		"f(" + strings.Repeat("(", 900):                                   "More than 16",
		"f(" + strings.Repeat("u", offline.MaxSignature):                  "characters",
		"f(" + strings.Repeat("a", 1000) + ")":                            "is no type",
	} {
		t.Run(written, func(t *testing.T) {
			got, refusal := offline.Canonical(written)
			refused(t, written, refusal, "signature")
			if got != "" || (refusal != nil && !strings.Contains(refusal.Message, why)) {
				t.Errorf("%.60q: %q, %v; want %q in it", written, got, refusal, why)
			}
		})
	}
}

func TestSelector_DeepestAndLongestSignaturesAreRead(t *testing.T) {
	t.Parallel()
	deepest := "f(" + strings.Repeat("(", 16) + "uint256" + strings.Repeat(")", 16) + ")"
	longest := "f(" + strings.Repeat("uint,", (offline.MaxSignature-3)/5)
	longest = longest[:len(longest)-1] + ")"
	for _, s := range []string{deepest, longest, "f(uint256" + strings.Repeat("[]", 1000) + ")"} {
		if got, refusal := offline.Canonical(s); refusal != nil || len(got) < len(s) {
			t.Errorf("%.60q: %d characters, %v", s, len(got), refusal)
		}
	}
}
