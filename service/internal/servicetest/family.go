package servicetest

import (
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
)

// Reader is a caller who may read usage or money, and the marks of its own data.
type Reader struct {
	*operation.Caller

	Key   account.KeyID
	Marks []string // as they appear in responses
}

// AskAll calls every operation about usage, money and support that any key may call, and returns
// the responses by call.
func (d *BillingEnv) AskAll(t *testing.T, who *Reader) map[string]string {
	t.Helper()
	filed := Must[tickets.CreatedTicket](t)(d.CreateTicket.Invoke(d.Ctx, who.Caller,
		tickets.CreateTicketInput{Subject: "s", Message: "m"}))
	list := map[string][]map[string]any{
		"get_statement": {{}, {"period": "2026-11-01"}}, "list_statements": {
			{},
		}, "export_statement": {{"period": "2026-11-01"}},
		"get_usage_report": {{}, {"hours": 48.0, "chain": "polygon_pos"}}, "get_usage_volume": {
			{}, {"window": "30d", "chain": "polygon_pos"},
		},
		"get_usage_stats": {{"report": "latency"}, {"report": "errors"}, {"report": "spend"}, {"report": "cache"}},
		"what_can_i_do":   {{}}, "preview_ticket": {{}}, "get_ticket": {{"reference": filed.Reference}},
		"list_tickets": {{}}, "list_feedback": {{}},
	}
	answers := map[string]string{}
	for _, op := range d.All() {
		m := op.Meta()
		if m.Access != operation.Holders || !m.Reads {
			continue
		}
		if len(list[m.Name]) == 0 {
			t.Errorf("say how %s is asked, so that it is known to tell nobody of others", m.Name)
		}
		for _, in := range list[m.Name] {
			out, refusal := Serve(d.Env, op, who.Caller, in)
			if refusal != nil {
				t.Fatalf("%s with %v: %v", m.Name, in, refusal)
			}
			answers[m.Name+" "+TextOf(t, in)] = TextOf(t, out)
		}
	}
	return answers
}
