package tools

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox/ens"
)

// ResolveENSInput is an ENS name. check normalizes it, so that the cache does not distinguish upper
// and lower case.
type ResolveENSInput struct {
	Name string `json:"name" minLength:"1" maxLength:"254" doc:"a name of ENS in ASCII: letters, digits, hyphens, $ and leading underscores in labels joined by dots; capitals make no difference" example:"vitalik.eth"`
}

// Check validates the input and fills in defaults.
func (in *ResolveENSInput) Check() *fault.Error {
	normal, err := ens.Normalize(in.Name)
	if err != nil {
		problem := "is no name"
		if told, ok := errors.AsType[*ens.NameError](err); ok {
			problem = told.Problem
		}
		return fault.New(fault.FieldRefused, "The name %s.", problem).With("field", "name")
	}
	in.Name = normal
	return nil
}

// OnChain returns the chain that the input names.
func (in *ResolveENSInput) OnChain() chain.ID { return chain.EthMainnet }

// ReverseENSInput is an address. check adds the checksum of EIP-55.
type ReverseENSInput struct {
	Address string `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"0x and 40 hexadecimal digits, in one case or with the right checksum (EIP-55)" example:"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"`
}

// Check validates the input and fills in defaults.
func (in *ReverseENSInput) Check() *fault.Error {
	address, refusal := checkedAddress("address", in.Address)
	in.Address = address.Checksummed()
	return refusal
}

// OnChain returns the chain that the input names.
func (in *ReverseENSInput) OnChain() chain.ID { return chain.EthMainnet }

// ensKept is how long ENS answers are cached, including that there is no record (docs/interface.md,
// 1.8).
const ensKept = 5 * time.Minute

const ensUnits = plan.Unit

func (h *handlers) resolveENS() *operation.Operation[ResolveENSInput, ens.Forward] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "resolve_ens", Title: "Resolve an ENS name",
		Description: "Gives the Ethereum address of an ENS name, as the chain has it now. Use it before sending to a " +
			"name; for the name of an address use reverse_ens. Wildcard names (ENSIP-10) and names whose records are " +
			"kept off-chain (EIP-3668) are resolved too. It costs 1 unit, and nothing when it is repeated within 5 " +
			"minutes. A name without an address answers resolved false with a note and is no error. Names beyond " +
			"ASCII are refused: normalise them yourself and call the Universal Resolver through the relay. When the " +
			"chain, or the gateway that keeps the name's records, does not answer, it fails and costs nothing.",
		Route:   operation.Route{Method: http.MethodGet, Path: "/toolbox/ens/resolve/{name}", Status: http.StatusOK},
		Access:  operation.KeyHolders,
		Reads:   true,
		Service: account.ENS,
		Units:   ensUnits,
		TTL:     ensKept,
		Fails:   chainFailures,
	}, h.runResolveENS)
}

func (h *handlers) runResolveENS(ctx context.Context, _ *operation.Call, in ResolveENSInput) (ens.Forward, error) {
	answer, err := h.Toolbox.ENS.Resolve(ctx, in.Name)
	answer.UnitWeight = ensUnits
	return answer, err
}

func (h *handlers) reverseENS() *operation.Operation[ReverseENSInput, ens.Reverse] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "reverse_ens", Title: "Find the ENS name of an address",
		Description: "Gives the primary ENS name that an Ethereum address declared for itself. Such records are " +
			"self-declared, so the name is also resolved forward: name holds it only when it leads back to the " +
			"address, and the note says so. A name that does not is in unconfirmed_name and must not be trusted; a " +
			"name that is not normalised, or beyond ASCII, is not repeated. For the address of a name use " +
			"resolve_ens. It costs 1 unit, and nothing when it is repeated within 5 minutes. An address without a " +
			"name answers resolved false and is no error. When the chain, or the gateway that keeps the name's " +
			"records, does not answer, it fails and costs nothing.",
		Route:   operation.Route{Method: http.MethodGet, Path: "/toolbox/ens/reverse/{address}", Status: http.StatusOK},
		Access:  operation.KeyHolders,
		Reads:   true,
		Service: account.ENS,
		Units:   ensUnits,
		TTL:     ensKept,
		Fails:   chainFailures,
	}, h.runReverseENS)
}

func (h *handlers) runReverseENS(ctx context.Context, _ *operation.Call, in ReverseENSInput) (ens.Reverse, error) {
	address, err := wallet.ParseAddress(in.Address)
	if err != nil {
		return ens.Reverse{}, err
	}
	answer, err := h.Toolbox.ENS.Reverse(ctx, address)
	answer.UnitWeight = ensUnits
	return answer, err
}
