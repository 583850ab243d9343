// Package ccip is the off-chain gateway of the sandbox's names (EIP-3668): it signs the records
// that OffchainResolver verifies.
package ccip

import (
	"crypto/ecdsa"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
)

const (
	maxBody = 64 << 10
	// signedFor is long because the fast chains of tests run ahead of the clock.
	signedFor = 24 * time.Hour

	coinEther = 60
)

// Labels below which the gateway misbehaves.
const (
	Missing = "missing" // 404
	Forged  = "forged"  // signed with another key
	Expired = "expired" // signed for an hour ago
)

var errNotOurs = errors.New("no such name here")

// Config configures a Gateway.
type Config struct {
	Signer *ecdsa.PrivateKey
	// Zones maps names such as "offchain.sandbox.eth" to their resolvers, for which the gateway
	// signs; names directly below have records.
	Zones map[string]common.Address
	// Asker may send requests for any of the resolvers too: the UniversalResolver sends them in its
	// own name.
	Asker  common.Address
	Labels map[string]common.Address // addresses by first label, the same in every zone; other labels have none
}

// Gateway answers EIP-3668 requests over HTTP.
type Gateway struct {
	cfg     Config
	service abi.Method // the function of IResolverService
	records abi.ABI    // the functions of resolver profiles that it answers
	mux     *http.ServeMux
}

// New returns a gateway that serves GET /{sender}/{data}.json and POST / with {"sender", "data"}.
func New(cfg Config) (*Gateway, error) {
	service, err := abi.JSON(strings.NewReader(serviceABI))
	if err != nil {
		return nil, fmt.Errorf("gateway of off-chain names: %w", err)
	}
	records, err := contracts.Named("PublicResolver")
	if err != nil {
		return nil, err
	}
	g := &Gateway{cfg: cfg, service: service.Methods["resolve"], records: records.ABI, mux: http.NewServeMux()}
	g.mux.HandleFunc("GET /{sender}/{data}", func(w http.ResponseWriter, r *http.Request) {
		g.answer(w, r.PathValue("sender"), strings.TrimSuffix(r.PathValue("data"), ".json"))
	})
	g.mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Sender string `json:"sender"`
			Data   string `json:"data"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
			refuse(w, http.StatusBadRequest, "the body is no JSON with sender and data")
			return
		}
		g.answer(w, body.Sender, body.Data)
	})
	return g, nil
}

const serviceABI = `[{"type":"function","name":"resolve","stateMutability":"view",
	"inputs":[{"name":"name","type":"bytes"},{"name":"data","type":"bytes"}],
	"outputs":[{"name":"result","type":"bytes"},{"name":"expires","type":"uint64"},{"name":"signature","type":"bytes"}]}]`

// ServeHTTP answers EIP-3668 requests.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.mux.ServeHTTP(w, r) }

func refuse(w http.ResponseWriter, status int, message string) { write(w, status, "message", message) }

func write(w http.ResponseWriter, status int, key, value string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{key: value}) // the client may have disconnected
}

func (g *Gateway) answer(w http.ResponseWriter, sender, data string) {
	request, err := hexutil.Decode(data)
	if err != nil || !common.IsHexAddress(sender) || len(request) < len(g.service.ID) ||
		!slices.Equal(request[:len(g.service.ID)], g.service.ID) {
		refuse(w, http.StatusBadRequest, "sender must be an address, data a call of resolve(bytes,bytes)")
		return
	}
	response, err := g.resolve(common.HexToAddress(sender), request)
	switch {
	case errors.Is(err, errNotOurs):
		refuse(w, http.StatusNotFound, err.Error())
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
	default:
		write(w, http.StatusOK, "data", hexutil.Encode(response))
	}
}

func (g *Gateway) resolve(sender common.Address, request []byte) ([]byte, error) {
	args, err := g.service.Inputs.Unpack(request[len(g.service.ID):])
	if err != nil {
		return nil, fmt.Errorf("data does not decode: %w", err)
	}
	encoded, _ := args[0].([]byte)
	call, _ := args[1].([]byte)
	label, resolver, err := g.find(encoded)
	if err != nil {
		return nil, err
	}
	if sender != resolver && sender != g.cfg.Asker {
		return nil, errNotOurs
	}
	result, err := g.record(label, call)
	if err != nil {
		return nil, err
	}
	signer, expires := g.cfg.Signer, time.Now().Add(signedFor)
	switch label {
	case Missing:
		return nil, errNotOurs
	case Expired:
		expires = time.Now().Add(-time.Hour)
	case Forged:
		if signer, err = crypto.GenerateKey(); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
	}
	until := uint64(expires.Unix()) //nolint:gosec // a date after 1970
	signature, err := crypto.Sign(signedHash(resolver, until, request, result), signer)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	signature[crypto.RecoveryIDOffset] += 27
	return g.service.Outputs.Pack(result, until, signature)
}

// signedHash returns the hash whose signature OffchainResolver verifies.
func signedHash(resolver common.Address, expires uint64, request, result []byte) []byte {
	return crypto.Keccak256(
		[]byte{0x19, 0x00}, resolver.Bytes(), binary.BigEndian.AppendUint64(nil, expires), crypto.Keccak256(request),
		crypto.Keccak256(result),
	)
}

// find parses a DNS-encoded name that is directly below a zone, and returns its first label and the
// zone's resolver.
func (g *Gateway) find(encoded []byte) (label string, resolver common.Address, err error) {
	var labels []string
	for len(encoded) > 0 && encoded[0] != 0 {
		end := 1 + int(encoded[0])
		if end > len(encoded) {
			return "", resolver, fmt.Errorf("the name is cut off")
		}
		labels = append(labels, string(encoded[1:end]))
		encoded = encoded[end:]
	}
	if len(labels) == 0 {
		return "", resolver, errNotOurs
	}
	resolver, ok := g.cfg.Zones[strings.Join(labels[1:], ".")]
	if !ok {
		return "", resolver, errNotOurs
	}
	return labels[0], resolver, nil
}

// record returns the encoded result of the resolver's function; an empty one for a name without
// records.
func (g *Gateway) record(label string, call []byte) ([]byte, error) {
	if len(call) < 4 {
		return nil, fmt.Errorf("the call has no selector")
	}
	method, err := g.records.MethodById(call)
	if err != nil {
		return nil, fmt.Errorf("the profile %x is not served", call[:4])
	}
	args, err := method.Inputs.Unpack(call[4:])
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", method.Sig, err)
	}
	address, known := g.cfg.Labels[label]
	switch method.Sig {
	case "addr(bytes32)":
		return method.Outputs.Pack(address)
	case "addr(bytes32,uint256)":
		if coin, _ := args[1].(*big.Int); known && coin.Cmp(big.NewInt(coinEther)) == 0 {
			return method.Outputs.Pack(address.Bytes())
		}
		return method.Outputs.Pack([]byte{})
	case "text(bytes32,string)", "name(bytes32)":
		return method.Outputs.Pack("")
	default:
		return nil, fmt.Errorf("the profile %s is not served", method.Sig)
	}
}
