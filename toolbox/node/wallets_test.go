package node_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

// The validator answers with one byte: 0 no code, 1 accepted, 2 refused. Package wallet tests it
// with real contracts.
func TestContractWallet_IsJudgedByTheChain(t *testing.T) {
	t.Parallel()
	r, public, _ := open(t)
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("owner")))
	if err != nil {
		t.Fatal(err)
	}
	hash := wallet.TextHash("a message")
	signature, err := crypto.Sign(hash[:], key)
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		reply testkit.Reply
		want  error
	}{
		"accepted":        {testkit.Result("0x01"), nil},
		"refused":         {testkit.Result("0x02"), wallet.ErrSignatureMismatch},
		"no contract":     {testkit.Result("0x00"), wallet.ErrSignatureMismatch},
		"reverted":        {testkit.ErrorWithData(3, "execution reverted", "0x"), wallet.ErrSignatureMismatch},
		"another error":   {testkit.Error(-32602, "invalid argument 0"), wallet.ErrChainUnreachable},
		"nothing":         {testkit.Result("0x"), wallet.ErrChainUnreachable},
		"no bytes":        {testkit.Result("1"), wallet.ErrChainUnreachable},
		"a page":          {testkit.HTML(http.StatusBadGateway), wallet.ErrChainUnreachable},
		"megabytes of it": {testkit.Result("0x" + string(make([]byte, 1<<20))), wallet.ErrChainUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			public.Default(row.reply)
			err := wallet.Verify(t.Context(), r.Wallets(chain.EthMainnet), wallet.Address{1}, hash, signature)
			if !errors.Is(err, row.want) {
				t.Errorf("%v, want %v", err, row.want)
			}
		})
	}
	if public.Count("eth_call") != public.Total() || public.Total() == 0 {
		t.Errorf("asked %d calls of %d", public.Count("eth_call"), public.Total())
	}
	if err := wallet.Verify(t.Context(), r.Wallets(chain.BaseMainnet), wallet.Address{1}, hash,
		signature); !errors.Is(err, wallet.ErrChainUnreachable) {
		t.Errorf("a chain without upstreams: %v", err)
	}
}
