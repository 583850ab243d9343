package operation

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/relay/chain"
)

// chainFields are the input fields that name chains. Other fields, such as the chains of a profile,
// take the built-in ones only.
var chainFields = []string{"chain", "candidates"}

// ListChains adds the chains that are not built in to the fields of an input that take a chain. A
// field that takes the built-in EVM chains takes the added ones too, and one that takes every
// built-in chain takes every added one; with evmOnly, no Solana cluster is added. Fields with other
// chains, for example the one that payments are made on, stay as they are.
func ListChains(s *huma.Schema, known *chain.Set, evmOnly bool) {
	for _, name := range chainFields {
		field := s.Properties[name]
		if field == nil {
			continue
		}
		list := field
		if field.Items != nil {
			list = field.Items
		}
		onlyEVM := slices.Equal(list.Enum, idsOf(chain.BuiltIn(), true))
		if !onlyEVM && !slices.Equal(list.Enum, idsOf(chain.BuiltIn(), false)) {
			continue
		}
		for _, c := range known.All() {
			if !c.IsBuiltIn() && (c.Family == chain.EVM || !onlyEVM && !evmOnly) {
				list.Enum = append(list.Enum, string(c.ID))
			}
		}
		if field.MaxItems != nil && *field.MaxItems < len(list.Enum) {
			most := len(list.Enum)
			field.MaxItems = &most
		}
		list.PrecomputeMessages()
		field.PrecomputeMessages()
	}
}

// idsOf returns the ids of the chains, as values of an enumeration.
func idsOf(known *chain.Set, evmOnly bool) (ids []any) {
	for _, c := range known.All() {
		if !evmOnly || c.Family == chain.EVM {
			ids = append(ids, string(c.ID))
		}
	}
	return ids
}
