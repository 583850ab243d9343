// Package sourcify is a fake of Sourcify for the sandbox's contracts: version 2 of its API for
// verified contracts, and its database of signatures (https://docs.sourcify.dev). It verifies
// nothing and knows only the listings that it is given.
package sourcify

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
)

// Listing is a verified contract.
type Listing struct {
	ChainID  uint64
	Address  common.Address
	Contract contracts.Contract
	Exact    bool   // the metadata matched too
	Proxy    string // the kind of proxy in Sourcify's terms, "EIP1967Proxy"; empty for none
	Target   common.Address
}

type place struct {
	chainID uint64
	address common.Address
}

// Server serves both APIs.
type Server struct {
	verifiedAt time.Time
	order      []place
	listings   map[place]Listing
	signatures signatures
	mux        *http.ServeMux
}

// New returns a server with the given listings. A chain without listings is answered as one that
// Sourcify does not support.
func New(listings []Listing, verifiedAt time.Time) (*Server, error) {
	s := &Server{
		verifiedAt: verifiedAt.UTC().Truncate(time.Second), listings: map[place]Listing{}, mux: http.NewServeMux(),
	}
	for _, l := range listings {
		at := place{l.ChainID, l.Address}
		if _, twice := s.listings[at]; twice {
			return nil, fmt.Errorf("sourcify: %s of chain %d is listed twice", l.Address, l.ChainID)
		}
		s.order = append(s.order, at)
		s.listings[at] = l
	}
	var err error
	if s.signatures, err = collect(); err != nil {
		return nil, err
	}
	s.mux.HandleFunc("GET /server/v2/contract/{chain}/{address}", s.contract)
	s.mux.HandleFunc("GET /signature-database/v1/lookup", s.signatures.lookup)
	return s, nil
}

// ServeHTTP serves both APIs on one host; Sourcify has a host for each.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// refuse answers with an error in Sourcify's form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]string{
		"customCode": code, "message": message, "errorId": strings.ToLower(rand.Text()),
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}

func (s *Server) contract(w http.ResponseWriter, r *http.Request) {
	chainID, err := strconv.ParseUint(r.PathValue("chain"), 10, 64)
	if err != nil || !slices.ContainsFunc(s.order, func(at place) bool { return at.chainID == chainID }) {
		refuse(w, http.StatusNotFound, "unsupported_chain", fmt.Sprintf("Chain %s not found", r.PathValue("chain")))
		return
	}
	if !common.IsHexAddress(r.PathValue("address")) || len(r.PathValue("address")) != 42 {
		refuse(w, http.StatusBadRequest, "invalid_parameter", "Invalid address: "+r.PathValue("address"))
		return
	}
	fields, err := wanted(r.URL.Query().Get("fields"), r.URL.Query().Get("omit"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_parameter", err.Error())
		return
	}
	at := place{chainID, common.HexToAddress(r.PathValue("address"))}
	body := map[string]any{
		"match": nil, "creationMatch": nil, "runtimeMatch": nil, "chainId": strconv.FormatUint(chainID, 10),
		"address": at.address.Hex(),
	}
	l, ok := s.listings[at]
	if !ok {
		answer(w, http.StatusNotFound, body)
		return
	}
	match := "match"
	if l.Exact {
		match = "exact_match"
	}
	body["match"], body["creationMatch"], body["runtimeMatch"] = match, match, match
	body["verifiedAt"], body["matchId"] = s.verifiedAt, strconv.Itoa(slices.Index(s.order, at)+1)
	for _, field := range fields {
		whole, part, _ := strings.Cut(field, ".")
		value := s.field(l, whole)
		inside, _ := value.(map[string]any)
		switch held, _ := body[whole].(map[string]any); {
		case part == "":
			body[whole] = value
		case held == nil:
			body[whole] = map[string]any{part: inside[part]}
		default:
			held[part] = inside[part]
		}
	}
	answer(w, http.StatusOK, body)
}

// field returns one of a contract's fields; null for what the sandbox does not have.
func (s *Server) field(l Listing, name string) any {
	switch name {
	case "abi":
		return l.Contract.RawABI
	case "compilation":
		return map[string]any{
			"language": "Solidity", "compiler": "solc", "compilerVersion": strings.TrimSuffix(l.Contract.Compiler,
				".Emscripten.clang"), "compilerSettings": map[string]any{
				"optimizer": map[string]any{"enabled": true, "runs": 200},
			},
			"name": l.Contract.Name, "fullyQualifiedName": l.Contract.Source + ":" + l.Contract.Name,
		}
	case "sources":
		text, err := contracts.Text(l.Contract.Source)
		if err != nil {
			return nil // the source is not one of ours
		}
		return map[string]any{l.Contract.Source: map[string]string{"content": text}}
	case "proxyResolution":
		return s.proxy(l)
	case "signatures":
		return signaturesOf(l.Contract)
	default:
		return nil
	}
}

func (s *Server) proxy(l Listing) any {
	if l.Proxy == "" {
		return map[string]any{"isProxy": false, "proxyType": nil, "implementations": []any{}}
	}
	implementation := map[string]any{"address": l.Target.Hex()}
	if target, ok := s.listings[place{l.ChainID, l.Target}]; ok {
		implementation["name"] = target.Contract.Name
	}
	return map[string]any{"isProxy": true, "proxyType": l.Proxy, "implementations": []any{implementation}}
}

// known maps the fields of version 2 to the parts that can be requested separately.
var known = map[string][]string{
	"abi": nil, "metadata": nil, "sources": nil, "sourceIds": nil, "userdoc": nil, "devdoc": nil, "storageLayout": nil,
	"transientStorageLayout": nil, "additionalInput": nil, "stdJsonInput": nil, "stdJsonOutput": nil,
	"proxyResolution": nil, "creationBytecode": nil, "runtimeBytecode": nil,
	"deployment":  {"transactionHash", "blockNumber", "transactionIndex", "deployer"},
	"compilation": {"language", "compiler", "compilerVersion", "compilerSettings", "name", "fullyQualifiedName"},
	"signatures":  {"function", "event", "error"},
}

// always are the fields of every answer.
var always = []string{"match", "creationMatch", "runtimeMatch", "chainId", "address", "verifiedAt", "matchId"}

func wanted(fields, omit string) ([]string, error) {
	if fields != "" && omit != "" {
		return nil, fmt.Errorf("cannot specify both fields and omit")
	}
	named := strings.FieldsFunc(fields+omit, func(r rune) bool { return r == ',' })
	if fields == "all" {
		named, omit = nil, "nothing"
	}
	var asked []string
	for _, field := range named {
		whole, part, _ := strings.Cut(field, ".")
		parts, ok := known[whole]
		if !slices.Contains(always, field) && (!ok || part != "" && !slices.Contains(parts, part)) {
			return nil, fmt.Errorf("field selector %s is not a valid field", field)
		}
		if ok {
			asked = append(asked, field)
		}
	}
	if omit == "" {
		return asked, nil
	}
	var rest []string
	for field := range known {
		if !slices.Contains(asked, field) {
			rest = append(rest, field)
		}
	}
	slices.Sort(rest)
	return rest, nil
}
