package contracts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/abi"
)

// Decoded is a decoded call.
type Decoded struct {
	Chain    chain.ID       `json:"chain"`
	Address  wallet.Address `json:"address" doc:"the contract that is called, in the capitals of EIP-55"`
	Function *string        `json:"function" nullable:"true" doc:"the function's signature; receive() or fallback() for the functions without a name; null when it is not known" example:"transfer(address,uint256)"`
	Selector *string        `json:"selector" nullable:"true" doc:"the first four bytes of the data; null when there are fewer" example:"0xa9059cbb"`
	Args     []Arg          `json:"args" doc:"the arguments in order; the words behind the selector when the function is not known"`
	Source   *string        `json:"source" nullable:"true" doc:"where the function is from: sourcify, the verified ABI of what is called, or signature_database; null when it is not known" example:"sourcify"`
	Guess    bool           `json:"guess" doc:"whether the function is a guess: a known signature with this selector, by which the data reads without a rest, but nobody verified that the contract has it"`
	// Candidates is set only with a guess.
	Candidates   []string        `json:"candidates,omitempty" doc:"further signatures of the same selector by which the data reads without a rest, at most eight"`
	ABIAddress   *wallet.Address `json:"abi_address" nullable:"true" doc:"the contract whose ABI has the function: the implementation, where the address is a proxy"`
	TrailingData string          `json:"trailing_data,omitempty" doc:"bytes behind the last argument, which the function does not read"`
	Note         string          `json:"note,omitempty"`
}

// Arg is an argument of a call.
type Arg struct {
	Name    string `json:"name" doc:"as the ABI names it; empty when it does not"`
	Type    string `json:"type" doc:"in canonical form; tuples as (type,…)" example:"uint256"`
	Value   any    `json:"value" doc:"integers as decimal strings, addresses in the capitals of EIP-55, bytes in hexadecimal, booleans, strings, arrays as lists, tuples as lists of name, type and value; a string that is not UTF-8 as {\"invalid_utf8\":\"0x…\"}"`
	Dynamic bool   `json:"dynamic" doc:"whether the type is of variable length (bytes, string, an array or tuple with such parts); then raw is there too"`
	Raw     string `json:"raw,omitempty" doc:"the bytes of the data that a dynamic argument takes, its length first" example:"0x"`
}

// GuessSource is the source of guessed functions.
const GuessSource = "signature_database"

const (
	selectorSize  = 4
	maxCandidates = 8

	receiveFunction  = "receive()"
	fallbackFunction = "fallback()"
)

// Decode decodes data as a call of a contract, and returns how long to cache the answer. It refuses
// data that does not fit the contract's function for its selector.
func (s *Service) Decode(ctx context.Context, id chain.ID, address wallet.Address,
	data []byte,
) (Decoded, time.Duration, error) {
	c, err := s.find(ctx, id, address)
	if err != nil {
		return Decoded{}, 0, err
	}
	d := Decoded{Chain: id, Address: address, Args: []Arg{}}
	own, err := parseABIs(c)
	if err != nil {
		return Decoded{}, 0, err
	}
	until := c.Until
	if len(data) < selectorSize {
		err = d.unnamed(c, own[0].Contract, data)
		return d, s.left(until), err
	}
	selector := [selectorSize]byte(data)
	text := abi.Hex(selector[:])
	d.Selector = &text
	functions := selected(own, selector)
	if len(functions) == 0 && len(c.ABI.Facets) > 0 {
		if functions, until, err = s.ofFacet(ctx, c, selector); err != nil {
			return Decoded{}, 0, err
		}
	}
	if len(functions) > 0 {
		err = d.read(functions, data[selectorSize:])
		return d, s.left(until), err
	}
	guesses, listed, err := s.named(ctx, selector)
	if err != nil {
		return Decoded{}, 0, err
	}
	d.guess(c, own[0].Contract, guesses, data[selectorSize:])
	return d, min(ShortTTL, s.left(earlier(until, listed))), nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// source is an ABI with its contract's address.
type source struct {
	*abi.Contract

	of wallet.Address
}

// parseABIs parses the ABI of the code that a call runs, and then that of the proxy itself, whose
// own functions (upgrades) a call may also use. The first element always exists and is empty if
// nothing is verified.
func parseABIs(c *contract) ([]source, error) {
	list := []source{{&abi.Contract{}, c.ABI.Address}}
	if c.ABI.ABI == nil {
		return list, nil
	}
	parsed, err := abi.ParseContract(c.ABI.ABI)
	if err != nil {
		return nil, fault.New(fault.UpstreamFailed,
			"The ABI that Sourcify has of this contract cannot be read. Nothing was charged.").Wrap(err)
	}
	list[0] = source{parsed, *c.ABI.ABIAddress}
	if parsed, err = abi.ParseContract(c.Own); err == nil && c.Own != nil {
		list = append(list, source{parsed, c.ABI.Address})
	}
	return list, nil
}

// function is a function with the contract whose ABI has it.
type function struct {
	*abi.Function

	of wallet.Address
}

func selected(list []source, selector [selectorSize]byte) []function {
	var found []function
	for _, s := range list {
		for _, f := range s.Selected(selector) {
			found = append(found, function{f, s.of})
		}
	}
	return found
}

// facetCall is facetAddress(bytes4), which asks a diamond for a function's contract (EIP-2535).
const facetCall = "0xcdffacc6"

// ofFacet finds a function of a diamond, and until when the result holds.
func (s *Service) ofFacet(ctx context.Context, c *contract,
	selector [selectorSize]byte,
) ([]function, time.Time, error) {
	r := &chainReader{s.node, c.ABI.Chain}
	data := facetCall + fmt.Sprintf("%x%056x", selector, 0)
	facet, err := r.addressFrom(ctx, c.ABI.Address, data)
	if err != nil || facet.IsZero() || facet == c.ABI.Address {
		return nil, c.Until, err
	}
	part, err := s.find(ctx, c.ABI.Chain, facet)
	if err != nil {
		return nil, c.Until, err
	}
	list, err := parseABIs(part)
	if err != nil {
		return nil, c.Until, err
	}
	return selected(list, selector), earlier(c.Until, part.Until), nil
}

// unnamed decodes data without a selector: a plain transfer, or data that only a fallback function
// accepts.
func (d *Decoded) unnamed(c *contract, own *abi.Contract, data []byte) error {
	from := Source
	switch {
	case len(data) > 0 && own.Fallback:
		name := fallbackFunction
		d.Function, d.Source, d.ABIAddress = &name, &from, c.ABI.ABIAddress
		d.Args = words(data)
	case len(data) > 0:
		return fault.New(fault.FieldRefused,
			"data has %d bytes. A call begins with the four bytes of a function's selector; fewer are taken only by a "+
				"fallback function, and no verified ABI of this contract has one.", len(data)).With("field", "data")
	case own.Receive || own.Payable:
		name := receiveFunction
		if !own.Receive {
			name = fallbackFunction
		}
		d.Function, d.Source, d.ABIAddress = &name, &from, c.ABI.ABIAddress
		d.Note = "The data is empty: a plain transfer of value."
	case c.ABI.Verified:
		d.Note = "The data is empty: a plain transfer of value. By its ABI the contract takes none."
	default:
		d.Note = "The data is empty: a plain transfer of value."
	}
	return nil
}

// read decodes the arguments with the first function whose encoding is exactly data, else with the
// first that decodes it at all.
func (d *Decoded) read(functions []function, data []byte) error {
	var best *function
	var args []abi.Argument
	var first error
	for i := range functions {
		f := &functions[i]
		read, err := f.Decode(data)
		switch {
		case err != nil:
			if first == nil {
				first = misfit(f.Function, err)
			}
		case best == nil:
			best, args = f, read
		}
		if err == nil && bytes.Equal(abi.Encode(read), data) {
			best, args = f, read
			break
		}
	}
	if best == nil {
		return first
	}
	from, name := Source, best.Signature()
	d.Function, d.Source, d.ABIAddress, d.Args = &name, &from, &best.of, argsOf(args)
	standard := abi.Encode(args)
	switch rest, ok := bytes.CutPrefix(data, standard); {
	case ok && len(rest) > 0:
		d.TrailingData = abi.Hex(rest)
		d.Note = fmt.Sprintf("%d bytes follow the last argument; the function does not read them.", len(rest))
	case !ok:
		d.Note = "The arguments are laid out in another way than encoders lay them out; their values are these all " +
			"the same."
	}
	return nil
}

// misfit returns the fault for data that does not fit a function.
func misfit(f *abi.Function, err error) error {
	wrong, ok := errors.AsType[*abi.ArgumentError](err)
	if !ok {
		return err
	}
	return fault.New(fault.FieldRefused,
		"data does not fit %.200s, the function of this contract with its selector: %.300s.", f.Signature(),
		wrong.Error()).With("field", "data")
}

// guess decodes with the first signature whose encoding is exactly data, and lists the others as
// candidates. Without any, it shows the words undecoded.
func (d *Decoded) guess(c *contract, own *abi.Contract, known []*abi.Function, data []byte) {
	for _, f := range known {
		args, err := f.Decode(data)
		if err != nil || !bytes.Equal(abi.Encode(args), data) {
			continue
		}
		name, from := f.Signature(), GuessSource
		switch {
		case d.Function == nil:
			d.Function, d.Source, d.Guess, d.Args = &name, &from, true, argsOf(args)
		case len(d.Candidates) < maxCandidates:
			d.Candidates = append(d.Candidates, name)
		}
	}
	why := "No verified ABI of this contract is there"
	if c.ABI.Verified {
		why = "The verified ABI of this contract has no function with this selector"
	}
	switch {
	case d.Guess:
		d.Note = why + ": the function is a guess by its selector, and its arguments have no names."
	case own.Fallback:
		name, from := fallbackFunction, Source
		d.Function, d.Source, d.ABIAddress, d.Args = &name, &from, c.ABI.ABIAddress, words(data)
		d.Note = why + ", so its fallback function runs; args are the words behind the selector."
	default:
		d.Args = words(data)
		d.Note = why + ", and no known signature fits; args are the words behind the selector."
	}
}

func argsOf(list []abi.Argument) []Arg {
	args := make([]Arg, len(list))
	for i := range list {
		a := &list[i]
		args[i] = Arg{Name: a.Name, Type: a.Type.String(), Value: a.Value.JSON(), Dynamic: a.Type.Dynamic()}
		if args[i].Dynamic {
			args[i].Raw = abi.Hex(a.Raw)
		}
	}
	return args
}

// words splits data into words of 32 bytes; the last one may be shorter.
func words(data []byte) []Arg {
	args := []Arg{}
	for len(data) > 0 {
		n := min(abi.WordSize, len(data))
		args = append(args, Arg{Type: fmt.Sprintf("bytes%d", n), Value: abi.Hex(data[:n])})
		data = data[n:]
	}
	return args
}
