package tickets_test

import (
	"slices"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
)

// Callers who manage the account, and the desk, learn who wrote what. Any other key learns only
// which messages are its own.
func TestTicket_ReadersLearnTheWritersTheyMayKnow(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	cookie := o.SignIn(t, "ann@buyer.example")
	ann, bob, dee := servicetest.Browser(cookie), servicetest.Browser(o.Join(t, cookie, "bob@buyer.example")),
		servicetest.Browser(o.Staff(t))
	of, _ := account.ParseID(o.WhoIs(t, cookie).AccountID)
	own := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{
		Name: "indexer",
	})).PlaintextToken
	scoutKey, _ := o.AgentKey(t, of)
	adoptedKey := o.AdoptedKey(t, of)
	key, scout, adopted := servicetest.Holder(own), servicetest.Holder(scoutKey), servicetest.Holder(adoptedKey)
	thread := func(filer *operation.Caller, writers ...*operation.Caller) string {
		t.Helper()
		filed := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, filer,
			tickets.CreateTicketInput{Subject: "s", Message: "m"}))
		for _, who := range writers {
			servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, who, tickets.ReplyTicketInput{
				Reference: filed.Reference, Message: "m",
			}))
		}
		servicetest.Must[tickets.TicketView](t)(o.DeskReplyTicket.Invoke(o.Ctx, dee, tickets.DeskReplyInput{
			Reference: filed.Reference, Message: "m", Seen: len(writers) + 1,
		}))
		return filed.Reference
	}
	words := func(notes []tickets.TicketNote) (all []string) {
		for _, n := range notes {
			if n.Writer == nil {
				all = append(all, string(n.Author))
				continue
			}
			all = append(all, string(n.Writer.Kind)+" "+n.Writer.Name)
		}
		return all
	}
	const you, another, support = "you ", "another ", "operator"
	isAnn, isBob, isScout := "member ann@buyer.example", "member bob@buyer.example", "agent scout"
	isKey, isAdopted := "key "+own[:12], "key "+adoptedKey[:12]
	ofAdopted, ofScout := thread(adopted, ann, bob, key), thread(scout, ann)
	for who, c := range map[string]struct {
		caller    *operation.Caller
		reference string
		want      []string
	}{
		"ann":         {ann, ofAdopted, []string{isAdopted, you, isBob, isKey, support}},
		"bob":         {bob, ofAdopted, []string{isAdopted, isAnn, you, isKey, support}},
		"her key":     {key, ofAdopted, []string{isAdopted, isAnn, isBob, you, support}},
		"the adopted": {adopted, ofAdopted, []string{you, another, another, another, support}},
		"the agent":   {scout, ofScout, []string{you, another, support}},
		"ann, of it":  {ann, ofScout, []string{isScout, you, support}},
	} {
		t.Run(who, func(t *testing.T) {
			detail := servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, c.caller,
				tickets.TicketInput{Reference: c.reference}))
			if got := words(detail.Messages); !slices.Equal(got, c.want) {
				t.Errorf("%s reads %q, want %q", who, got, c.want)
			}
		})
	}
	desk := servicetest.Must[tickets.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.Ctx, dee, tickets.DeskTicketInput{
		Reference: ofAdopted,
	}))
	if got, want := words(desk.Messages), []string{isAdopted, isAnn, isBob, isKey, support}; !slices.Equal(got, want) {
		t.Errorf("the desk reads %q, want %q", got, want)
	}
}
