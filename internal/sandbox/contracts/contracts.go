// Package contracts holds the contracts that stand on the sandbox's chains: sources of ours and
// what they compile to, and USDC as its makers compiled it (usdc/LICENSE). make contracts writes
// the artefacts; a test of e2e makes them again and compares.
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

// Contract is one contract, compiled.
type Contract struct {
	Name     string
	Source   string           // the file it stands in, "PriceFeed.sol"; Text has those of ours
	Compiler string           // "0.8.37+commit.…"
	Code     []byte           // makes the contract: constructor and code, without arguments
	Links    map[string][]int // where the addresses of libraries go in Code, by their names
	ABI      abi.ABI          // to call it with
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

// Named finds a contract by its name.
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

// Text is the source that a file of this package holds.
func Text(source string) (string, error) {
	text, err := files.ReadFile(source)
	if err != nil {
		return "", fmt.Errorf("the sandbox has no source %q: %w", source, err)
	}
	return string(text), nil
}

// All lists the contracts by name.
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
