package canonical_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/canonical"
)

// ignoredInBlocks are members of which any value may change, by where they are.
var (
	ignoredInBlocks       = []string{"size", "totalDifficulty", "author"}
	ignoredInTransactions = []string{"yParity", "chainId", "blockTimestamp"}
)

// FuzzResult holds for any block: members in another order, null members and other values of
// ignored members do not change its digest; a change of anything else does.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{
		blockOfGeth, blockOfNethermind, `{"transactions":[` + legacyOfGeth + `,` + dynamicOfNethermind + `]}`,
		`{"transactions":[` + depositOfOpGeth + `]}`, `{"a":{"b":[1,{"c":"0x1"}]},"n":1.5}`,
	} {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		before, err := canonical.Result(chain.EVM, "eth_getBlockByHash", []byte(text))
		block, ok := object(text)
		if err != nil || !ok {
			return
		}
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable
		after, err := canonical.Result(chain.EVM, "eth_getBlockByHash", written(random, disturbed(random, block)))
		if err != nil || after != before {
			t.Fatalf("%q: ignored changes change the digest, %v", text, err)
		}
		if changed, ok := spoiled(random, block); ok {
			after, err = canonical.Result(chain.EVM, "eth_getBlockByHash", written(random, changed))
			if err == nil && after == before {
				t.Fatalf("%q became %s, and its digest stays", text, written(random, changed))
			}
		}
	})
}

// object parses a block; false for what encoding/json reads differently.
func object(text string) (map[string]any, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var block map[string]any
	err := d.Decode(&block)
	return block, err == nil && block != nil && !strings.ContainsRune(text, '\uFFFD')
}

// disturbed changes what is ignored.
func disturbed(random *rand.Rand, block map[string]any) map[string]any {
	out := clone(block).(map[string]any) //nolint:errcheck,forcetypeassert // as block
	for _, name := range ignoredInBlocks {
		out[name] = random.Uint32()
	}
	out["never there"] = nil
	all, _ := out["transactions"].([]any)
	for _, one := range all {
		if transaction, ok := one.(map[string]any); ok {
			for _, name := range ignoredInTransactions {
				transaction[name] = random.Uint32()
			}
		}
	}
	return out
}

// spoiled adds a member that is not known, or changes a value that counts.
func spoiled(random *rand.Rand, block map[string]any) (map[string]any, bool) {
	out := clone(block).(map[string]any) //nolint:errcheck,forcetypeassert // as block
	if random.IntN(2) == 0 {
		if _, there := out["another member"]; there {
			return nil, false
		}
		out["another member"] = random.Uint32()
		return out, true
	}
	hash, ok := out["hash"].(string)
	if !ok {
		return nil, false
	}
	out["hash"] = hash + "0"
	return out, true
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = clone(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}

// written writes a value with its members in random order.
func written(random *rand.Rand, v any) []byte {
	var out bytes.Buffer
	write(&out, random, v)
	return out.Bytes()
}

func write(out *bytes.Buffer, random *rand.Rand, v any) {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		_ = out.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			write(out, random, name)
			_ = out.WriteByte(':')
			write(out, random, v[name])
		}
		_ = out.WriteByte('}')
	case []any:
		_ = out.WriteByte('[')
		for i := range v {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			write(out, random, v[i])
		}
		_ = out.WriteByte(']')
	default:
		text, _ := json.Marshal(v)
		_, _ = out.Write(text)
	}
}
