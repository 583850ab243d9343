package apitest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// Deepest is the newest block whose answers are stored.
const Deepest = Head - chain.FinalDepth

// BlockHash is the hash of the block that Node knows.
var BlockHash = "0x" + strings.Repeat("0b", 32)

// Hash returns a hash for a number.
func Hash(n int) string { return fmt.Sprintf("0x%064x", n) }

// Node answers requests by hash with a block of that height. Its unusual white space must be passed
// on.
func Node(height int) testkit.Reply {
	return func(x *testkit.Exchange) {
		var asked string
		if parts := strings.Split(string(x.Request.Params), `"`); len(parts) > 1 {
			asked = strings.ToLower(parts[1])
		}
		result := "null"
		switch x.Request.Method {
		case "eth_getBlockByHash":
			result = fmt.Sprintf(`{ "hash": %q,"number": "0x%x", "transactions":[ ] }`, asked, height)
		case "eth_getTransactionByHash":
			result = fmt.Sprintf(`{"blockHash":%q, "blockNumber":"0x%x","hash":%q,"v":"0x1b"}`, BlockHash, height,
				asked)
		case "eth_getTransactionReceipt":
			result = fmt.Sprintf(`{"transactionHash":%q,"logs":[ {"data":"0x"}],"blockNumber":"0x%x","blockHash":%q}`,
				asked, height, BlockHash)
		case "eth_getTransactionByBlockHashAndIndex":
			result = fmt.Sprintf(`{"blockHash":%q,"blockNumber":"0x%x"}`, asked, height)
		case "eth_getUncleByBlockHashAndIndex":
			result = fmt.Sprintf(`{"number":"0x%x"}`, height-6)
		case "eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash":
			result = `"0x2"`
		}
		testkit.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":`+string(x.Request.ID)+`,"result":`+
			result+`}`)(x)
	}
}

// newPool creates upstreams with credentials in every part of their URLs and headers.
func (g *Gateway) newPool(o Options) *upstream.Pool {
	g.T.Helper()
	if o.Providers != nil {
		pool, err := upstream.NewPool(*o.Providers, o.Now)
		g.Must(err)
		g.T.Cleanup(pool.Close)
		return pool
	}
	for range o.Upstreams {
		g.Ups = append(g.Ups, testkit.Upstream(g.T))
	}
	file := config.Upstreams{Known: o.Known, Chains: make(map[string]config.ChainUpstreams)}
	for _, id := range o.Chains {
		var list []config.Upstream
		for i, u := range g.Ups {
			host := strings.TrimPrefix(u.URL, "http://")
			list = append(list, config.Upstream{
				Name: fmt.Sprintf("up-%d", i), Supply: string(o.Supply), MaxPerSecond: o.PerSecond,
				URL: "http://canaryuser:canarypass@" + host + "/v2/canary-path-" + string(id) +
					"?apikey=canary-query%2B1",
				Headers: map[string]string{"X-Api-Key": "canary-header-1234"},
			})
		}
		file.Chains[string(id)] = config.ChainUpstreams{Upstreams: list, Verify: o.Verify}
	}
	pool, err := upstream.NewPool(file, o.Now)
	g.Must(err)
	g.T.Cleanup(pool.Close)
	if o.Apply {
		for _, id := range o.Chains {
			ApplyHealthy(pool, id, o.Now(), len(g.Ups))
		}
	}
	return pool
}

// ApplyHealthy marks the first n upstreams of a chain as healthy and at Head.
func ApplyHealthy(pool *upstream.Pool, id chain.ID, at time.Time, n int) {
	on, _ := pool.Chain(id)
	s := upstream.Snapshot{Chain: id, MeasuredAt: at, Head: Head, HeadKnown: true}
	for i := range n {
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Fingerprint: on.Fingerprint(fmt.Sprintf("up-%d", i)),
			Name:        fmt.Sprintf("up-%d", i), Usable: true, ChainIDOK: true, Head: Head,
			LatencyMicros: int64(1000 << (6 * i)),
		})
	}
	on.Apply(s)
}

// Sent counts the requests for a method at all upstreams.
func (g *Gateway) Sent(method string) int {
	n := 0
	for _, u := range g.Ups {
		n += u.Count(method)
	}
	return n
}

// All sets the reply of every upstream.
func (g *Gateway) All(reply testkit.Reply) {
	for _, u := range g.Ups {
		u.Default(reply)
	}
}

// AllOn lets every upstream answer a method with reply.
func (g *Gateway) AllOn(method string, reply testkit.Reply) {
	for _, u := range g.Ups {
		u.On(method, reply)
	}
}

// ApplyAt applies a snapshot of Ethereum with another head.
func ApplyAt(g *Gateway, head uint64, at time.Time) {
	on, _ := g.Pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{Chain: chain.EthMainnet, MeasuredAt: at, Head: head, HeadKnown: true}
	on.Apply(s)
}

// Submission is a submission to a chain, with the id of its transaction.
type Submission struct {
	Chain         chain.ID
	Method        string
	Params        string
	Field, Wanted string
}

// Submissions returns one submission for each kind of chain.
func Submissions() []Submission {
	signed := []byte{0x02, 0xf8, 0x6b, 0x01, 0x07, 0x80}
	wire := append([]byte{1}, make([]byte, 64)...)
	for i := range 64 {
		wire[1+i] = byte(i + 1)
	}
	wire = append(wire, 1, 0, 1, 3)
	return []Submission{
		{
			chain.EthMainnet, "eth_sendRawTransaction", fmt.Sprintf(`["0x%s"]`, hex.EncodeToString(signed)),
			"transaction_hash", crypto.Keccak256Hash(signed).Hex(),
		},
		{
			chain.SolanaMainnet, "sendTransaction",
			fmt.Sprintf(`[%q,{"encoding":"base64"}]`, base64.StdEncoding.EncodeToString(wire)), "signature",
			base58.Encode(wire[1:65]),
		},
	}
}
