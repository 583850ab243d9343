package mcp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/operation"
)

func testTools(t *testing.T) []*tool {
	t.Helper()
	return (&Door{
		Options: Options{Capabilities: service.New(service.Options{PublicURL: "https://gateway.example"})},
	}).allTools()
}

// specified are the tools of docs/interface.md, 2.4, with buy_pack.
const specified = `get_key bind_key_start bind_key_complete claim_agent_start claim_agent_complete create_api_key configure_key revoke_api_key list_api_keys
	get_billing_status configure_services update_account join_enterprise_wishlist join_waitlist list_plans get_usage get_statement manage_tickets manage_feedback
	rpc_call get_balances get_history get_prices get_tx_status resolve_ens get_abi decode_calldata convert_evm verify_signature what_can_i_do get_quote
	explain_error recommend migrate buy_pack`

// Rating sites for agents fault these: parameters without a description, missing errors and
// repeats, no limits, overlapping tools.
func TestTools_AreDescribedForWhoMustChoose(t *testing.T) {
	t.Parallel()
	tools := testTools(t)
	names := strings.Fields(specified)
	sentence := regexp.MustCompile(`^([A-Z0-9-]|[a-z]+_[a-z_]+[ ,]).*\.$`)
	snake := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	mentioned := regexp.MustCompile(
		`\b(?:get|list|create|configure|revoke|update|join|manage|rpc|resolve|decode|convert|verify|what|explain|bind` +
			`|claim|buy)_[a-z_]+\b`)
	// Words that look like tool names but are parameters or fields.
	others := []string{"verify_signature", "claim_code"}
	for _, tool := range tools {
		in := expect.In(t, "%q", tool.name)
		expect.True(in, snake.MatchString(tool.name), tool.name)
		expect.AtMost(in, len(tool.name), 64, tool.name)
		expect.NotEqual(in, tool.title, "")
		a := tool.about
		for part, text := range map[string]string{
			"purpose": a.Purpose, "use": a.Use, "instead": a.Instead, "cost": a.Cost, "limits": a.Limits,
			"fails": a.Fails, "again": a.Again,
		} {
			t.Run(part, func(t *testing.T) {
				if !sentence.MatchString(text) || len(text) > 700 {
					t.Errorf("%s: %s is no sentence, or too long: %q", tool.name, part, text)
				}
			})
		}
		if strings.Count(a.Purpose, ". ") > 0 {
			t.Errorf("%s: the purpose is more than one sentence", tool.name)
		}
		if other := mentioned.FindString(a.Instead); other == "" || other == tool.name {
			t.Errorf("%s: no other tool is named instead: %q", tool.name, a.Instead)
		}
		if !regexp.MustCompile(`-32\d{3}`).MatchString(a.Fails) {
			t.Errorf("%s: no code is named: %q", tool.name, a.Fails)
		}
		for _, name := range mentioned.FindAllString(tool.about.String(), -1) {
			if !slices.Contains(names, name) && !slices.Contains(others, name) {
				t.Errorf("%s mentions %s, which is no tool", tool.name, name)
			}
		}
	}
}

// property is a parameter in a schema.
type property struct {
	Type        any
	Description string
	Examples    []any
	Enum        []any
	Items       struct{ Enum []any }
	Format      string
	Minimum     *float64
	Properties  map[string]property
}

// input is the schema of a tool's parameters.
type input struct {
	Type                 string
	AdditionalProperties any
	Properties           map[string]property
	Required             []string
}

func inputOf(t *testing.T, tool *tool) (s input) {
	t.Helper()
	c := service.New(service.Options{PublicURL: "https://gateway.example"})
	if err := json.Unmarshal(tool.inputSchema(c.Schemas(), nil), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTools_EveryParameterSaysWhatItTakes(t *testing.T) {
	t.Parallel()
	c := service.New(service.Options{PublicURL: "https://gateway.example"})
	for _, tool := range testTools(t) {
		s := inputOf(t, tool)
		if s.Type != "object" || s.AdditionalProperties != false {
			t.Errorf("%s: input %+v", tool.name, s)
		}
		for name, p := range s.Properties { // cursors are opaque: an example would be refused
			if len(p.Description) < 15 {
				t.Errorf("%s: %s is described as %q", tool.name, name, p.Description)
			}
			told := name == "cursor" || len(p.Examples) > 0 || len(p.Enum) > 0 || len(p.Items.Enum) > 0 ||
				p.Format != "" || p.Type == "boolean"
			if list, ok := p.Type.([]any); ok {
				told = told || slices.Contains(list, any("boolean"))
			}
			if !told {
				t.Errorf("%s: %s has no example, no values and no format", tool.name, name)
			}
		}
		var out struct{ Type string }
		if err := json.Unmarshal(tool.outputSchema(c.Schemas()), &out); err != nil || out.Type != "object" {
			t.Errorf("%s: output of type %q, %v", tool.name, out.Type, err)
		}
	}
}

// A tool must not promise what its operation does not keep.
func TestTools_HintsAreThoseOfTheCapabilities(t *testing.T) {
	t.Parallel()
	for _, tool := range testTools(t) {
		reads := len(tool.ways) > 0
		for _, w := range tool.ways {
			m := w.of.Meta()
			reads = reads && (m.Reads || m.Metered())
			if keyFree := m.Access == operation.Everybody && !m.Metered(); keyFree != tool.keyFree {
				t.Errorf("%s: key-free is %v, but %s is not", tool.name, tool.keyFree, m.Name)
			}
		}
		if reads != (tool.hints&readOnly != 0) {
			t.Errorf("%s: read-only is said to be %v", tool.name, !reads)
		}
		if tool.hints&readOnly != 0 && tool.hints&(idempotent|destructive) != idempotent {
			t.Errorf("%s only reads, and is said to be destructive or no repeat", tool.name)
		}
	}
}

// ofPages is the field that deduplicates forms of the console's pages. Tools have no forms, and the
// interface names no such parameter.
const ofPages = "form"

// For tools with several ways: every parameter belongs to a way, and every field of a way's
// operation can be set.
func TestTools_WaysTakeWhatTheToolTakes(t *testing.T) {
	t.Parallel()
	for _, tool := range testTools(t) {
		if tool.relays || tool.input == nil {
			continue
		}
		s := inputOf(t, tool)
		taken := map[string]bool{tool.selector: true}
		for _, w := range tool.ways {
			for field := range w.of.Input().Properties {
				if field == ofPages {
					continue
				}
				name := field
				for ours, theirs := range w.names {
					if theirs == field {
						name = ours
					}
				}
				taken[name] = true
				if _, there := s.Properties[name]; !there {
					t.Errorf("%s: %s takes %s, which the tool does not name", tool.name, w.of.Meta().Name, field)
				}
			}
		}
		for name := range s.Properties {
			if !taken[name] {
				t.Errorf("%s: %s goes to none of its ways", tool.name, name)
			}
		}
	}
}
