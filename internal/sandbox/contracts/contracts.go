// Package contracts holds the contracts of the sandbox's chains: sources of ours with their
// compiled code, and USDC as compiled by Circle (usdc/LICENSE). make contracts writes the
// artefacts; a test in test/e2e compiles them again and compares.
package contracts

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

//go:embed *.json *.sol usdc/usdc.json
var files embed.FS

// Contract is a compiled contract.
type Contract struct {
	Name     string
	Source   string           // its source file, "PriceFeed.sol"; Text returns those of ours
	Compiler string           // "0.8.37+commit.…"
	Code     []byte           // the creation code, without constructor arguments
	Links    map[string][]int // offsets in Code for the addresses of libraries, by library name
	ABI      abi.ABI          // the parsed RawABI
	RawABI   json.RawMessage  // as the compiler wrote it
}

type artefact struct {
	Compiler  string `json:"compiler"`
	Contracts map[string]struct {
		Source   string           `json:"source"`
		ABI      json.RawMessage  `json:"abi"`
		Bytecode hexutil.Bytes    `json:"bytecode"`
		Links    map[string][]int `json:"links"`
	} `json:"contracts"`
}

var all = sync.OnceValues(read)

// Named returns the contract with a name.
func Named(name string) (Contract, error) {
	found, err := all()
	if err != nil {
		return Contract{}, err
	}
	c, ok := found[name]
	if !ok {
		return Contract{}, fmt.Errorf("the sandbox has no contract %q", name)
	}
	return c, nil
}

// Text returns the contents of a source file of this package.
func Text(source string) (string, error) {
	text, err := files.ReadFile(source)
	if err != nil {
		return "", fmt.Errorf("the sandbox has no source %q: %w", source, err)
	}
	return string(text), nil
}

// All returns the contracts by name.
func All() (map[string]Contract, error) { return all() }

func read() (map[string]Contract, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list the contracts: %w", err)
	}
	found := map[string]Contract{}
	for _, file := range append(names, "usdc/usdc.json") {
		text, err := files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		var a artefact
		if err := json.Unmarshal(text, &a); err != nil {
			return nil, fmt.Errorf("%s is no artefact: %w", file, err)
		}
		for name, made := range a.Contracts {
			c := Contract{
				Name: name, Source: cmp.Or(made.Source, strings.TrimSuffix(file, ".json")+".sol"), Compiler: a.Compiler,
				Code: made.Bytecode, Links: made.Links, RawABI: made.ABI,
			}
			if err := json.Unmarshal(made.ABI, &c.ABI); err != nil {
				return nil, fmt.Errorf("%s: the ABI of %s: %w", file, name, err)
			}
			found[name] = c
		}
	}
	return found, nil
}
