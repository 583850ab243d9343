package tickets

import (
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/supportdb"
)

// Mailer prepares mails for the outbox and seals the links in them; outbox.Outbox implements it.
type Mailer interface {
	support.Mailer
}

// JoinWishlistInput is a request for an enterprise agreement.
type JoinWishlistInput struct {
	Items string `json:"items" minLength:"1" maxLength:"1000" doc:"what is needed: volume, chains, guarantees; 1 to 1,000 characters" example:"2 billion calls a month on Base, a node of our own in Frankfurt"`
	Email string `json:"email" minLength:"1" maxLength:"1016" doc:"where you want to be answered: one e-mail address" example:"name@domain.example"`
}

// JoinedWishlist reports whether the operator gets a mail about the request.
type JoinedWishlist struct {
	Sent    bool   `json:"sent" doc:"whether a mail to the operator was queued; without it the wish is recorded all the same"`
	Contact string `json:"contact" doc:"the operator's address, for questions"`
}

func (h *handlers) joinWishlist() *operation.Operation[JoinWishlistInput, JoinedWishlist] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "join_enterprise_wishlist", Title: "Ask for an enterprise agreement", Access: operation.Everybody,
		PerNetwork: true,
		Fails:      []fault.Reason{fault.DurableUnavailable},
		Description: "Tells the operator, by mail, what an enterprise agreement should hold; they answer to the " +
			"address that is given. One mail confirms it there, with a link that withdraws it, the first time an " +
			"address is given and never again. It needs no key and costs nothing. Each repeat tells it again, up to " +
			"five times a day from one network.",
	}, h.runJoinWishlist)
}

func (h *handlers) runJoinWishlist(ctx context.Context, c *operation.Call,
	in JoinWishlistInput,
) (JoinedWishlist, error) {
	if refusal := prose("items", in.Items, true); refusal != nil {
		return JoinedWishlist{}, refusal
	}
	email, refusal := account.ParseEmail(in.Email)
	if refusal != nil {
		return JoinedWishlist{}, refusal
	}
	if refusal := h.LimitNetwork(ctx, c.Network, netlimit.Wishes); refusal != nil {
		return JoinedWishlist{}, refusal
	}
	wish := supportdb.Wish{ID: supportdb.NewWishID(), Items: in.Items, Email: email, Channel: c.Door, At: h.Now()}
	sent, err := h.support.JoinWishlist(ctx, wish)
	if err != nil {
		return JoinedWishlist{}, operation.ToFault(err, "wish")
	}
	return JoinedWishlist{Sent: sent, Contact: h.Contact}, nil
}

// JoinWaitlistInput is an entry of the waitlist.
type JoinWaitlistInput struct {
	EmailAddress   string `json:"email_address" minLength:"1" maxLength:"1016" doc:"one e-mail address" example:"name@domain.example"`
	Qualifier      string `json:"qualifier" enum:"developer,investor,curious" doc:"who you are: developer, investor or curious"`
	Source         string `json:"source,omitempty" maxLength:"100" doc:"where you heard of the service, up to 100 characters" example:"a friend"`
	ProductUpdates bool   `json:"product_updates,omitempty" default:"false" doc:"true asks for news of the product; false (default) for word of the opening alone. No news is sent before the address confirmed it, by the link of its mail"`
}

// JoinedWaitlist reports whether the address is on the waitlist.
type JoinedWaitlist struct {
	Joined        bool `json:"joined" doc:"the address is on the list now; false where whoever reads it took it off, which the link of its mail alone takes back"`
	AlreadyOnList bool `json:"already_on_list" doc:"it was before; nothing was changed then"`
}

func (h *handlers) joinWaitlist() *operation.Operation[JoinWaitlistInput, JoinedWaitlist] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "join_waitlist", Title: "Join the waitlist", Access: operation.Everybody, PerNetwork: true,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Puts an address on the list of those who hear when something opens. One mail there asks to " +
			"confirm it or to leave, once and never again. It needs no key and costs nothing. A repeat with the same " +
			"address changes nothing; a network may send 20 a day.",
	}, h.runJoinWaitlist)
}

func (h *handlers) runJoinWaitlist(ctx context.Context, c *operation.Call,
	in JoinWaitlistInput,
) (JoinedWaitlist, error) {
	email, refusal := account.ParseEmail(in.EmailAddress)
	if refusal != nil {
		return JoinedWaitlist{}, refusal.With("field", "email_address")
	}
	if in.Source != "" {
		if refusal := prose("source", in.Source, false); refusal != nil {
			return JoinedWaitlist{}, refusal
		}
	}
	if refusal := h.LimitNetwork(ctx, c.Network, netlimit.Waitlist); refusal != nil {
		return JoinedWaitlist{}, refusal
	}
	became, err := h.support.JoinWaitlist(ctx, supportdb.Waiting{
		Email: email, Qualifier: in.Qualifier, Source: in.Source, ProductUpdates: in.ProductUpdates, Channel: c.Door,
		At: h.Now(),
	})
	if err != nil {
		return JoinedWaitlist{}, operation.ToFault(err, "address")
	}
	return JoinedWaitlist{Joined: became != supportdb.JoinRefused, AlreadyOnList: became == supportdb.JoinedBefore}, nil
}
