package pages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// ErrorsPath is the page that lists the error codes. The page of a code is below it, for example
// /docs/errors/-32005.
const ErrorsPath = "/docs/errors"

// errorCode is a code with every reason that has it.
type errorCode struct {
	Code    int
	Title   string
	Reasons []errorReason
	Nodes   []chain.NodeError
	Example string
	// Snippets are how a program reacts to the first reason, in curl, viem and ethers.
	Snippets []Snippet
}

// errorReason is a reason as its page shows it.
type errorReason struct {
	fault.Entry
	advice

	Retry string
}

// Codes lists the codes of the table of refusals in the order of the table, most frequent first.
func Codes() []int {
	var codes []int
	for _, e := range fault.Table() {
		if !slices.Contains(codes, e.Code) {
			codes = append(codes, e.Code)
		}
	}
	return codes
}

// sharedTitles are the titles of codes with several reasons (JSON-RPC 2.0, section 5.1).
var sharedTitles = map[int]string{-32600: "Request refused", -32602: "Parameters refused", -32027: "Settlement used up"}

// exampleID is an example of a request id.
const exampleID = "01926f3a-7c1e-7b52-9d1a-0d5f6c2e8a11"

// errorCodeOf returns everything that the page of a code shows.
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

// exampleOf returns the error object as a client receives it.
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

// Path returns the path of the code's page.
func (e errorCode) Path() string { return ErrorsPath + "/" + e.number() }

func (e errorCode) number() string { return strconv.Itoa(e.Code) }

// Statuses lists the HTTP statuses of the code without duplicates.
func (e errorCode) Statuses() string {
	var told []string
	for _, r := range e.Reasons {
		if s := strconv.Itoa(r.HTTP); !slices.Contains(told, s) {
			told = append(told, s)
		}
	}
	return strings.Join(told, ", ")
}

// Relayed reports whether relayed calls can return the code.
func (e errorCode) Relayed() bool {
	_, other := elsewhere[e.Code]
	return !other
}

// Several reports whether the code has several reasons, which only the message distinguishes.
func (e errorCode) Several() bool { return len(e.Reasons) > 1 }
