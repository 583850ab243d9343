package service_test

import (
	"slices"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service"
)

// Callers who manage the account, and the desk, learn who wrote what. Any other key learns only
// which messages are its own.
func TestTicket_ReadersLearnTheWritersTheyMayKnow(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	cookie := o.signIn(t, "ann@buyer.example")
	ann, bob, dee := browser(cookie), browser(o.join(t, cookie, "bob@buyer.example")), browser(o.staff(t))
	of, _ := account.ParseID(o.whoIs(t, cookie).AccountID)
	own := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{
		Name: "indexer",
	})).PlaintextToken
	scoutKey, _ := o.agentKey(t, of)
	adoptedKey := o.adoptedKey(t, of)
	key, scout, adopted := holder(own), holder(scoutKey), holder(adoptedKey)
	thread := func(filer *service.Caller, writers ...*service.Caller) string {
		t.Helper()
		filed := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, filer,
			service.CreateTicketInput{Subject: "s", Message: "m"}))
		for _, who := range writers {
			must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, who, service.ReplyTicketInput{
				Reference: filed.Reference, Message: "m",
			}))
		}
		must[service.TicketView](t)(o.DeskReplyTicket.Invoke(o.ctx, dee, service.DeskReplyInput{
			Reference: filed.Reference, Message: "m", Seen: len(writers) + 1,
		}))
		return filed.Reference
	}
	words := func(notes []service.TicketNote) (all []string) {
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
		caller    *service.Caller
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
		detail := must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, c.caller,
			service.TicketInput{Reference: c.reference}))
		if got := words(detail.Messages); !slices.Equal(got, c.want) {
			t.Errorf("%s reads %q, want %q", who, got, c.want)
		}
	}
	desk := must[service.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.ctx, dee, service.DeskTicketInput{
		Reference: ofAdopted,
	}))
	if got, want := words(desk.Messages), []string{isAdopted, isAnn, isBob, isKey, support}; !slices.Equal(got, want) {
		t.Errorf("the desk reads %q, want %q", got, want)
	}
}
