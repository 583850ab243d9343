package stripe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// maxExpansion is the maximum depth of an expansion.
const maxExpansion = 4

// embedded are the references that are always replaced by their objects, by field name.
var embedded = map[string]func(s *Server, id string) (any, bool){
	"price":             func(s *Server, id string) (any, bool) { v, ok := s.Prices.rows[id]; return v, ok },
	"coupon":            func(s *Server, id string) (any, bool) { v, ok := s.Coupons.rows[id]; return v, ok },
	"default_tax_rates": func(s *Server, id string) (any, bool) { v, ok := s.TaxRates.rows[id]; return v, ok },
	"tax_rates":         func(s *Server, id string) (any, bool) { v, ok := s.TaxRates.rows[id]; return v, ok },
}

// expandable are the references that a request may expand, by field name.
var expandable = map[string]func(s *Server, id string) (any, bool){
	"customer": func(s *Server, id string) (any, bool) { v, ok := s.Customers.rows[id]; return v, ok },
	"subscription": func(s *Server, id string) (any, bool) {
		v, ok := s.Subscriptions.rows[id]
		return v, ok
	},
	"invoice":                func(s *Server, id string) (any, bool) { v, ok := s.Invoices.rows[id]; return v, ok },
	"latest_invoice":         func(s *Server, id string) (any, bool) { v, ok := s.Invoices.rows[id]; return v, ok },
	"payment_intent":         func(s *Server, id string) (any, bool) { v, ok := s.Intents.rows[id]; return v, ok },
	"charge":                 func(s *Server, id string) (any, bool) { v, ok := s.Charges.rows[id]; return v, ok },
	"latest_charge":          func(s *Server, id string) (any, bool) { v, ok := s.Charges.rows[id]; return v, ok },
	"default_payment_method": func(s *Server, id string) (any, bool) { v, ok := s.Methods.rows[id]; return v, ok },
	"product":                func(s *Server, id string) (any, bool) { v, ok := s.Products.rows[id]; return v, ok },
	"tax_rate":               func(s *Server, id string) (any, bool) { v, ok := s.TaxRates.rows[id]; return v, ok },
	"configuration": func(s *Server, id string) (any, bool) {
		v, ok := s.Configurations.rows[id]
		return v, ok
	},
}

// included are the fields that an object shows only when expanded, by kind of object.
var included = map[string][]string{
	"coupon":           {"applies_to"},
	"checkout.session": {"line_items"},
	"charge":           {"refunds"},
	"customer":         {"subscriptions"},
}

// view returns an object as it is sent: references are ids, except those that are always embedded
// and those in expand.
func (s *Server) view(object any, expand []string) (any, error) {
	tree, err := plain(object)
	if err != nil {
		return nil, err
	}
	paths := make([][]string, len(expand))
	for i, path := range expand {
		if paths[i] = strings.Split(path, "."); len(paths[i]) > maxExpansion {
			return nil, invalid("", "expand", "You cannot expand more than %d levels of a property. Property: %s",
				maxExpansion, path)
		}
	}
	return s.show(tree, paths)
}

func plain(object any) (any, error) {
	text, err := marshal(object)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	err = decoder.Decode(&tree)
	return tree, err
}

func (s *Server) show(node any, paths [][]string) (any, error) {
	switch node := node.(type) {
	case []any:
		for i := range node {
			shown, err := s.show(node[i], paths)
			if err != nil {
				return nil, err
			}
			node[i] = shown
		}
	case map[string]any:
		return s.showObject(node, paths)
	}
	return node, nil
}

func (s *Server) showObject(node map[string]any, paths [][]string) (any, error) {
	kind, _ := node["object"].(string)
	if err := s.include(kind, node, paths); err != nil {
		return nil, err
	}
	for name, value := range node {
		if strings.HasPrefix(name, "sandbox_") {
			delete(node, name)
			continue
		}
		below := under(paths, name)
		if whole, ok := embedded[name]; ok {
			value = s.resolve(value, whole)
		}
		if whole, ok := expandable[name]; ok && below != nil {
			value = s.resolve(value, whole)
		}
		if name == "metadata" {
			continue
		}
		shown, err := s.show(value, below)
		if err != nil {
			return nil, err
		}
		node[name] = shown
	}
	for _, path := range paths {
		if len(path) == 0 {
			continue
		}
		if _, known := node[path[0]]; !known {
			return nil, invalid("", "expand", "This property cannot be expanded (%s).", strings.Join(path, "."))
		}
	}
	return node, nil
}

// include removes or adds the fields that are shown only when expanded.
func (s *Server) include(kind string, node map[string]any, paths [][]string) error {
	id, _ := node["id"].(string)
	for _, name := range included[kind] {
		if under(paths, name) == nil {
			delete(node, name)
			continue
		}
		var more any
		switch name {
		case "refunds":
			more = listOf("/v1/charges/"+id+"/refunds", s.Refunds.all(func(r *refund) bool {
				return r.Charge == id
			})...)
		case "subscriptions":
			more = listOf("/v1/customers/"+id+"/subscriptions",
				s.Subscriptions.all(func(u *subscription) bool { return u.Customer == id && !u.ended() })...)
		case "applies_to":
			if s.Coupons.rows[id].AppliesTo == nil {
				node[name] = nil
			}
			continue
		default:
			continue
		}
		tree, err := plain(more)
		if err != nil {
			return err
		}
		node[name] = tree
	}
	return nil
}

// resolve replaces an id, or each id of a list, by its object.
func (s *Server) resolve(value any, whole func(*Server, string) (any, bool)) any {
	switch value := value.(type) {
	case string:
		found, ok := whole(s, value)
		if !ok {
			return value
		}
		tree, err := plain(found)
		if err != nil {
			return value
		}
		return tree
	case []any:
		resolved := slices.Clone(value)
		for i := range resolved {
			resolved[i] = s.resolve(resolved[i], whole)
		}
		return resolved
	}
	return value
}

// under returns the remainders of the paths that begin with a name; nil when none does.
func under(paths [][]string, name string) [][]string {
	var rests [][]string
	for _, path := range paths {
		if len(path) > 0 && path[0] == name {
			rests = append(rests, path[1:])
		}
	}
	return rests
}
