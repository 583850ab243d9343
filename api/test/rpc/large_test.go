package rpc_test

import (
	"bytes"
	"context"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/holiman/uint256"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestSubmission_TakesATransactionWithSixBlobs(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.MaxBody = 4 << 20 })
	const blobs = 6
	key, err := crypto.GenerateKey()
	g.Must(err)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(1)), &types.BlobTx{
		ChainID: uint256.NewInt(1), Gas: 21_000, GasFeeCap: uint256.NewInt(1), BlobFeeCap: uint256.NewInt(1),
		Sidecar: types.NewBlobTxSidecar(types.BlobSidecarVersion1, make([]kzg4844.Blob, blobs),
			make([]kzg4844.Commitment, blobs), make([]kzg4844.Proof, blobs*kzg4844.CellProofsPerBlob)),
	})
	g.Must(err)
	raw, err := tx.MarshalBinary()
	g.Must(err)
	sent := list(hexutil.Bytes(raw))
	g.All(func(x *testkit.Exchange) {
		if !bytes.Equal(x.Request.Params, []byte(sent)) {
			t.Errorf("%d bytes of parameters arrived changed, %d were sent", len(x.Request.Params), len(sent))
		}
		testkit.Reset()(x)
	})
	data := g.RPC(g.Unlimited(), chain.EthMainnet, apitest.Call("eth_sendRawTransaction", sent)).Refused(
		http.StatusConflict, -32017)
	if data["transaction_hash"] != tx.Hash().Hex() {
		t.Errorf("the hash is %v, want %s", data["transaction_hash"], tx.Hash())
	}
}

func TestRequests_LargeBodiesAreReadAFewAtATime(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.MaxBody = 8 << 20 }) // two at a time for an account
	key, other := g.Unlimited(), g.Unlimited()
	large := apitest.Call("eth_call", `["`+strings.Repeat("0", 2<<20)+`"]`)
	held := apitest.Call("eth_call", `["`+strings.Repeat("0", 7<<20)+`"]`)
	answered := make(chan int, 2)
	var rest []*io.PipeWriter
	for range 2 {
		body, w := io.Pipe()
		rest = append(rest, w)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/rpc/eth_mainnet", body)
		g.Must(err)
		req.Header.Set("Authorization", "Bearer "+key)
		go func() { answered <- unbuffered(t, req) }()
		_, err = w.Write([]byte(held[:len(held)-1]))
		g.Must(err)
	}
	refused := g.RPC(key, chain.EthMainnet, large)
	refused.Refused(http.StatusBadGateway, -32022)
	if got := refused.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q, want 1", got)
	}
	g.Eth(key, "eth_call").Result() // smaller ones are read
	g.RPC(other, chain.EthMainnet, large).Result()
	for _, w := range rest {
		_, err := w.Write([]byte(held[len(held)-1:]))
		g.Must(err)
		g.Must(w.Close())
	}
	for range 2 {
		if status := <-answered; status != http.StatusOK {
			t.Errorf("a large body that had a place is answered HTTP %d", status)
		}
	}
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.RPC(key, chain.EthMainnet, large).Status == http.StatusOK
	}, "the places are free again")
}

// unbuffered sends req through a small send buffer and returns the status of the answer. What the
// system buffers is less than 6 MiB, so a body of 7 MiB that was written is read beyond the first.
func unbuffered(t *testing.T, req *http.Request) int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok {
				err = tcp.SetWriteBuffer(64 << 10)
			}
			return conn, err
		},
	}}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}
