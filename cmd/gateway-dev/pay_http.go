package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/sandbox"
)

// menuAnswer is the part of GET /x402 that is used.
type menuAnswer struct {
	Asset, AssetAddress, PayTo, Header, MessageToSign, Redeem, TaxCountry string

	ChainID         uint64 `json:"chainId"`
	UnitsPerPayment json.Number
	Tiers           []tierAnswer
}

type tierAnswer struct {
	Name, NetAmountRequired, MaxAmountRequired string
}

// boughtAnswer is the answer to a redeem.
type boughtAnswer struct {
	Credential string      `json:"credential"`
	Units      json.Number `json:"units"`
	Tier       string      `json:"tier"`
	ExpiresAt  string      `json:"expires_at"`
}

func (s *stranger) readMenu(ctx context.Context) (*menuAnswer, tierAnswer, error) {
	var menu menuAnswer
	if status, body, _, err := s.ask(ctx, http.MethodGet, s.url+"/x402", nil, nil); err != nil {
		return nil, tierAnswer{}, err
	} else if err := read("the menu", status, body, &menu); err != nil {
		return nil, tierAnswer{}, err
	}
	if menu.PayTo == "" {
		return nil, tierAnswer{}, errors.New("the menu sells nothing today: start gateway-dev with its sandbox")
	}
	for _, tier := range menu.Tiers {
		if tier.Name == s.tier {
			return &menu, tier, nil
		}
	}
	return nil, tierAnswer{}, fmt.Errorf("the menu has no tier %q", s.tier)
}

func (s *stranger) askFaucet(ctx context.Context) (sandbox.Given, error) {
	var given sandbox.Given
	asked := map[string]common.Address{"address": crypto.PubkeyToAddress(s.wallet.PublicKey)}
	status, body, _, err := s.ask(ctx, http.MethodPost, s.url+sandbox.FaucetPath, asked, nil)
	if err == nil {
		err = read("the faucet", status, body, &given)
	}
	return given, err
}

// redeem retries, after Retry-After, until the payment has enough confirmations.
func (s *stranger) redeem(ctx context.Context, menu *menuAnswer, tx common.Hash,
	signature []byte,
) (boughtAnswer, error) {
	var bought boughtAnswer
	for {
		body := map[string]string{"tx_hash": tx.Hex(), "tier": s.tier, "signature": hexutil.Encode(signature)}
		status, text, header, err := s.ask(ctx, http.MethodPost, menu.Redeem, body, nil)
		if err != nil {
			return bought, err
		}
		if status != http.StatusAccepted {
			return bought, read("redeeming", status, text, &bought)
		}
		wait, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil || wait < 1 {
			return bought, fmt.Errorf("redeem is pending without a valid Retry-After: %q",
				header.Get("Retry-After"))
		}
		s.sayf("redeem", "not enough confirmations yet, retry in %d s", wait)
		select {
		case <-ctx.Done():
			return bought, fmt.Errorf("not enough confirmations in time; redeem the payment later: %w", ctx.Err())
		case <-time.After(time.Duration(wait) * time.Second):
		}
	}
}

// call makes a call to the relay with the credential and returns the raw result.
func (s *stranger) call(ctx context.Context, menu *menuAnswer, credential string) (string, error) {
	body := map[string]any{"jsonrpc": "2.0", "id": 1, "method": callMethod(s.chain), "params": []any{}}
	status, text, _, err := s.ask(ctx, http.MethodPost, s.url+"/rpc/"+s.chain, body,
		map[string]string{menu.Header: credential})
	if err != nil {
		return "", err
	}
	var answer struct{ Result json.RawMessage }
	if err := read("the call", status, text, &answer); err != nil {
		return "", err
	}
	if answer.Result == nil {
		return "", fmt.Errorf("the call was answered without a result: %.300s", text)
	}
	return string(answer.Result), nil
}

func (s *stranger) readReceipt(ctx context.Context, tx common.Hash) error {
	page := s.url + "/x402/receipts/" + tx.Hex()
	var receipt struct {
		Settlements []struct {
			Amount string
			Tax    struct{ Treatment string }
			Bought struct{ Units, Used json.Number }
		}
	}
	status, body, _, err := s.ask(ctx, http.MethodGet, page+".json", nil, nil)
	if err == nil {
		err = read("the receipt", status, body, &receipt)
	}
	if err != nil {
		return err
	}
	if len(receipt.Settlements) != 1 {
		return fmt.Errorf("the receipt has %d payments, want 1", len(receipt.Settlements))
	}
	paid := receipt.Settlements[0]
	s.sayf("receipt", "%s USDC for %s units. %s %s", paid.Amount, paid.Bought.Units, paid.Tax.Treatment, page)
	return nil
}

// maxAnswer is the maximum size of an answer in bytes.
const maxAnswer = 1 << 20

// ask sends a request, with body as JSON unless it is nil, and returns the answer.
func (s *stranger) ask(ctx context.Context, method, url string, body any,
	headers map[string]string,
) (status int, text []byte, header http.Header, err error) {
	var content io.Reader = http.NoBody
	if body != nil {
		document, err := json.Marshal(body)
		if err != nil {
			return 0, nil, nil, err
		}
		content = bytes.NewReader(document)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("--url: %w", err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, nil, nil,
			fmt.Errorf("no gateway answers there; start gateway-dev, or give its address with --url: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, text, resp.Header, err
}

// read decodes a successful answer; any other is an error.
func read(what string, status int, text []byte, into any) error {
	if status != http.StatusOK {
		return fmt.Errorf("%s answered %d: %.500s", what, status, bytes.TrimSpace(text))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s cannot be read: %w", what, err)
	}
	return nil
}
