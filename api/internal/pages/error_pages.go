package pages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// ErrorsPath is where the pages of codes stand: /docs/errors lists them, /docs/errors/-32005 is one
// of them.
const ErrorsPath = "/docs/errors"

// errorCode is a code with every reason that has it.
type errorCode struct {
	Code    int
	Title   string
	Reasons []errorReason
	Nodes   []chain.NodeError
	Example string
	// Snippets are what a program does about the first reason, in curl, viem and ethers.
	Snippets []Snippet
}

// errorReason is a reason as its page tells it.
type errorReason struct {
	fault.Entry
	advice

	Retry string
}

// Codes lists the codes of the table of refusals, those that people meet first at the top: in the
// order of the table.
func Codes() []int {
	var codes []int
	for _, e := range fault.Table() {
		if !slices.Contains(codes, e.Code) {
			codes = append(codes, e.Code)
		}
	}
	return codes
}

// sharedTitles are what codes with several reasons are called (JSON-RPC 2.0, section 5.1).
var sharedTitles = map[int]string{-32600: "Request refused", -32602: "Parameters refused", -32027: "Settlement used up"}

// exampleID stands for a request's id.
const exampleID = "01926f3a-7c1e-7b52-9d1a-0d5f6c2e8a11"

// errorCodeOf puts together what there is to say of a code, for a gateway at an address.
func errorCodeOf(code int, publicURL string) (errorCode, error) {
	e := errorCode{Code: code, Nodes: chain.NodeErrors(code)}
	for _, entry := range fault.Explain(code) {
		a, ok := advised[entry.Reason]
		if !ok {
			return e, fmt.Errorf("nothing is said of %s", entry.Name)
		}
		if a.Charged == "" {
			a.Charged = nothing
		}
		e.Reasons = append(e.Reasons, errorReason{entry, a, retries[a.Does]})
	}
	if len(e.Reasons) == 0 {
		return e, fmt.Errorf("no reason has the code %d", code)
	}
	first := e.Reasons[0]
	e.Title = first.Title
	if title, ok := sharedTitles[code]; ok {
		e.Title = title
	}
	e.Example = exampleOf(first.Reason)
	var err error
	e.Snippets, err = errorSnippets(code, first.Does, publicURL)
	return e, err
}

// exampleOf is the error object as a client gets it.
func exampleOf(r fault.Reason) string {
	f := fault.New(r, "")
	if entry := r.Entry(); entry.HTTP == 429 || entry.HTTP == 503 {
		f.RetryAfter = 1
	}
	if r == fault.OutcomeUnknown {
		f = f.With("transaction_hash", "0x"+strings.Repeat("ab", 32))
	}
	return indented(`{"jsonrpc":"2.0","id":1,"error":` + string(f.Object(exampleID)) + `}`)
}

// Path is where the page of the code stands.
func (e errorCode) Path() string { return ErrorsPath + "/" + e.number() }

func (e errorCode) number() string { return strconv.Itoa(e.Code) }

// Statuses are the HTTP statuses that the code comes with, each once.
func (e errorCode) Statuses() string {
	var told []string
	for _, r := range e.Reasons {
		if s := strconv.Itoa(r.HTTP); !slices.Contains(told, s) {
			told = append(told, s)
		}
	}
	return strings.Join(told, ", ")
}

// Relayed reports whether calls of chains meet the code.
func (e errorCode) Relayed() bool {
	_, other := elsewhere[e.Code]
	return !other
}

// Several reports whether the message has to tell the reasons apart.
func (e errorCode) Several() bool { return len(e.Reasons) > 1 }
