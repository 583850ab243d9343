package contracts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/toolbox/abi"
)

// listing is a verified contract as Sourcify reports it.
type listing struct {
	Name  string            // the contract's name in its sources
	Match string            // exact_match or match
	ABI   []json.RawMessage // nil if it was verified without one, as bare Yul is
	Proxy *resolution
}

// resolution is Sourcify's analysis of a proxy.
type resolution struct {
	IsProxy         bool    `json:"isProxy"`
	ProxyType       *string `json:"proxyType"`
	Implementations []struct {
		Address wallet.Address `json:"address"`
	} `json:"implementations"`
}

// verification reports whether Sourcify has verified a contract.
type verification uint8

const (
	verified verification = iota
	unverified
	unknownChain // Sourcify verifies no contracts of it
)

// Values of Sourcify's API, version 2.
const (
	exactMatch       = "exact_match"
	anyMatch         = "match"
	unsupportedChain = "unsupported_chain"

	maxNameBytes       = 256
	maxImplementations = 64
)

// contractOf asks Sourcify for a contract. Any answer that is not clearly valid is a failure, so
// that an outage, an intermediary's error page or another program's 404 never counts as "not
// verified".
func (s *Service) contractOf(ctx context.Context, chainID uint64,
	address wallet.Address,
) (*listing, verification, error) {
	path := fmt.Sprintf("/server/v2/contract/%d/%s?fields=abi,compilation,proxyResolution", chainID, address)
	status, body, err := s.sourcify.get(ctx, path)
	if err != nil {
		return nil, unverified, err
	}
	var said struct {
		Match       json.RawMessage `json:"match"`
		CustomCode  string          `json:"customCode"`
		ChainID     string          `json:"chainId"`
		Address     wallet.Address  `json:"address"`
		ABI         json.RawMessage `json:"abi"`
		Compilation struct {
			Name string `json:"name"`
		} `json:"compilation"`
		Proxy *resolution `json:"proxyResolution"`
	}
	garbage := s.sourcify.failed(waitDefault, errGarbage)
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, unverified, garbage.Wrap(err)
	}
	if status == http.StatusNotFound && said.CustomCode == unsupportedChain {
		return nil, unknownChain, nil
	}
	if said.ChainID != strconv.FormatUint(chainID, 10) || said.Address != address {
		return nil, unverified, garbage
	}
	var match *string
	if said.Match == nil || json.Unmarshal(said.Match, &match) != nil {
		return nil, unverified, garbage
	}
	switch {
	case match == nil:
		return nil, unverified, nil
	case status != http.StatusOK || said.ABI == nil || (*match != exactMatch && *match != anyMatch):
		return nil, unverified, garbage
	}
	l := &listing{Match: *match, Name: strings.ToValidUTF8(said.Compilation.Name, "\uFFFD"), Proxy: said.Proxy}
	if err := json.Unmarshal(said.ABI, &l.ABI); err != nil || !l.plausible() {
		return nil, unverified, garbage.Wrap(err)
	}
	return l, verified, nil
}

// plausible reports whether a listing has the form and the size that compilers and Sourcify
// produce.
func (l *listing) plausible() bool {
	return len(l.Name) <= maxNameBytes && len(l.ABI) <= abi.MaxEntries &&
		(l.Proxy == nil || len(l.Proxy.Implementations) <= maxImplementations) &&
		!slices.ContainsFunc(l.ABI, func(entry json.RawMessage) bool { return len(entry) == 0 || entry[0] != '{' })
}
