package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// payOptions are the options of the command pay.
type payOptions struct {
	url     string
	tier    string
	chain   string
	timeout time.Duration
}

func payCommand(started *bool) *cobra.Command {
	var o payOptions
	cmd := &cobra.Command{
		Use:   "pay",
		Short: "Pay per call at a running gateway-dev, without an account",
		Long: `pay buys units of calls at a running gateway-dev with a wallet that it makes, and prints each step: it reads the menu,
lets the sandbox's faucet give the wallet USDC and gas, transfers what the menu asks for, signs the menu's message,
redeems the payment for a credential, calls the relay with it, and reads the receipt.
The exit code is 0 when every step worked, and 1 with one sentence otherwise.`,
		Example: "  gateway-dev pay --tier balanced\n  gateway-dev pay --tier fast --chain base_mainnet --url " +
			"http://127.0.0.1:9000",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			*started = true
			ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
			defer cancel()
			s := stranger{payOptions: o, out: cmd.OutOrStdout(), client: &http.Client{}}
			return s.pay(ctx)
		},
	}
	cmd.Flags().StringVar(&o.url, "url", "http://127.0.0.1:8080", "address of the gateway-dev")
	cmd.Flags().StringVar(&o.tier, "tier", string(plan.Balanced), "tier to buy: cheap, balanced or fast")
	cmd.Flags().StringVar(&o.chain, "chain", string(chain.EthMainnet), "chain to call with the credential")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "timeout for all steps")
	return cmd
}

func (o *payOptions) check() error {
	if _, ok := plan.FindPerCallTier(plan.Tier(o.tier)); !ok {
		return fmt.Errorf("--tier: there is no tier %q: choose cheap, balanced or fast", o.tier)
	}
	if _, ok := chain.BuiltIn().Lookup(o.chain); !ok {
		return fmt.Errorf("--chain: there is no chain %q: %s has them all", o.chain, strings.Join(chainNames(), ", "))
	}
	if o.timeout < time.Second {
		return errors.New("--timeout must be at least 1s")
	}
	o.url = strings.TrimRight(o.url, "/")
	return nil
}

func chainNames() []string {
	var names []string
	for _, c := range chain.BuiltIn().All() {
		names = append(names, string(c.ID))
	}
	return names
}

// stranger is a client that knows only the gateway's URL.
type stranger struct {
	payOptions

	out    io.Writer
	client *http.Client
	wallet *ecdsa.PrivateKey
}

func (s *stranger) sayf(step, format string, args ...any) {
	fmt.Fprintf(s.out, "%-8s %s\n", step, fmt.Sprintf(format, args...))
}

func (s *stranger) pay(ctx context.Context) (err error) {
	if s.wallet, err = crypto.GenerateKey(); err != nil {
		return fmt.Errorf("make a wallet: %w", err)
	}
	s.sayf("wallet", "%s, created for this run", crypto.PubkeyToAddress(s.wallet.PublicKey))
	menu, tier, err := s.readMenu(ctx)
	if err != nil {
		return err
	}
	amount := tier.MaxAmountRequired
	if !plan.VATApplies(menu.TaxCountry) {
		amount = tier.NetAmountRequired
	}
	s.sayf("menu", "%s: %s units on %s for %s atomic %s to %s, on chain %d", s.url+"/x402", menu.UnitsPerPayment,
		tier.Name, amount, menu.Asset, menu.PayTo, menu.ChainID)
	given, err := s.askFaucet(ctx)
	if err != nil {
		return err
	}
	s.sayf("faucet", "gave %s atomic USDC and %s wei, in %s", given.USDC, given.Wei, given.Tx)
	tx, err := s.transfer(ctx, given.RPC, menu, amount)
	if err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	s.sayf("pay", "%s atomic %s in %s", amount, menu.Asset, tx)
	message := strings.ReplaceAll(menu.MessageToSign, "{tx_hash}", tx.Hex())
	signature, err := crypto.Sign(accounts.TextHash([]byte(message)), s.wallet)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	signature[crypto.RecoveryIDOffset] += 27 // as wallets encode it
	s.sayf("sign", "%q", message)
	bought, err := s.redeem(ctx, menu, tx, signature)
	if err != nil {
		return err
	}
	s.sayf("redeem", "%s units on %s until %s: %s", bought.Units, bought.Tier, bought.ExpiresAt, bought.Credential)
	answer, err := s.call(ctx, menu, bought.Credential)
	if err != nil {
		return err
	}
	s.sayf("call", "%s on %s answers %s", callMethod(s.chain), s.chain, answer)
	return s.readReceipt(ctx, tx)
}

// callMethod returns a method that every chain of the family supports.
func callMethod(id string) string {
	if c, ok := chain.BuiltIn().Lookup(id); ok && c.Family == chain.Solana {
		return "getBlockHeight"
	}
	return "eth_gasPrice"
}

// transfer sends the asset in a transaction signed by the wallet and waits until it is mined.
func (s *stranger) transfer(ctx context.Context, rpc string, menu *menuAnswer, amount string) (common.Hash, error) {
	value, ok := new(big.Int).SetString(amount, 10)
	if !ok || !common.IsHexAddress(menu.PayTo) || !common.IsHexAddress(menu.AssetAddress) {
		return common.Hash{}, fmt.Errorf("the menu asks for %.40q of %.60q to %.60q, which no transfer can be made of",
			amount, menu.AssetAddress, menu.PayTo)
	}
	node, err := ethclient.DialContext(ctx, rpc)
	if err != nil {
		return common.Hash{}, err
	}
	defer node.Close()
	id, err := node.ChainID(ctx)
	if err != nil {
		return common.Hash{}, err
	}
	if id.Uint64() != menu.ChainID {
		return common.Hash{},
			fmt.Errorf("the menu is of chain %d, the faucet of chain %d: give --url of a gateway-dev with its sandbox",
				menu.ChainID, id)
	}
	data := slices.Concat(crypto.Keccak256([]byte("transfer(address,uint256)"))[:4],
		common.LeftPadBytes(common.HexToAddress(menu.PayTo).Bytes(), 32), common.LeftPadBytes(value.Bytes(), 32))
	tx, err := sandbox.SignCall(ctx, node, s.wallet, common.HexToAddress(menu.AssetAddress), nil, data)
	if err != nil {
		return common.Hash{}, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return common.Hash{}, err
	}
	var hash common.Hash
	if err := node.Client().CallContext(ctx, &hash, "eth_sendRawTransaction", hexutil.Encode(raw)); err != nil {
		return common.Hash{}, err
	}
	return hash, sandbox.AwaitMined(ctx, node, hash)
}
