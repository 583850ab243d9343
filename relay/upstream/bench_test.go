package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// instant answers every read at once, so that a benchmark measures everything but the transport.
type instant struct{}

// instantBody is an answer with the id of its request.
type instantBody struct {
	text [len(instantAnswer)]byte
	read int
}

const instantAnswer = `{"jsonrpc":"2.0","id":1000000000000000,"result":"0x1"}`

func (b *instantBody) Read(p []byte) (int, error) {
	n := copy(p, b.text[b.read:])
	if b.read += n; b.read == len(b.text) {
		return n, io.EOF
	}
	return n, nil
}

func (*instantBody) Close() error { return nil }

func (instant) Do(_ context.Context, request []byte, _ time.Time) (*http.Response, error) {
	body := new(instantBody)
	copy(body.text[:], instantAnswer)
	copy(body.text[len(`{"jsonrpc":"2.0","id":`):], transport.IDOf(request))
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(instantAnswer)), Body: body}, nil
}

func (i instant) DoAlone(ctx context.Context, body []byte, deadline time.Time) (*http.Response, error) {
	return i.Do(ctx, body, deadline)
}

func (instant) CloseIdleConnections() {}

func (instant) Retire() {}

// benchmarked returns Ethereum with n measured upstreams that answer at once.
func benchmarked(b *testing.B, n int) *Chain {
	b.Helper()
	var list []config.Upstream
	for i := range n {
		list = append(list, config.Upstream{Name: fmt.Sprintf("up-%d", i), URL: "http://127.0.0.1:1", Supply: "public"})
	}
	p, err := NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): {Upstreams: list}},
	}, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Close)
	c, _ := p.Chain(chain.EthMainnet)
	c.Apply(healthy(c, time.Now()))
	for _, e := range c.endpoints {
		e.reads = instant{}
		e.measured(time.Millisecond)
	}
	return c
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{3, 32} {
		b.Run(fmt.Sprintf("upstreams=%d", n), func(b *testing.B) {
			c := benchmarked(b, n)
			r := &Request{Method: []byte("eth_call"), Supply: plan.Public, Tier: plan.Balanced}
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, ok := c.next(&search{r: r, list: c.endpoints}); !ok {
						b.Error("nobody was chosen")
					}
				}
			})
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, tier := range []plan.Tier{plan.Balanced, plan.Fast} {
		b.Run(string(tier), func(b *testing.B) {
			c := benchmarked(b, 3)
			c.hedges.credit.Store(maxHedgeCredit)
			ctx := WithDeadline(b.Context(), time.Now().Add(time.Hour), time.Now)
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					answer, f := c.Read(ctx, &Request{
						Method: []byte("eth_call"), Params: []byte(`[{},"latest"]`), Supply: plan.Public, Tier: tier,
						MaxAnswer: maxAnswer,
					})
					if f != nil {
						b.Error(f)
						return
					}
					answer.Release()
				}
			})
		})
	}
}
