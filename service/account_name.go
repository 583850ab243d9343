package service

import (
	"context"

	"github.com/chainaccess/gateway/internal/fault"
)

// NameAccountInput is the new name of an account.
type NameAccountInput struct {
	Name string `json:"name" maxLength:"80" doc:"by which people tell the account from their others, up to 80 characters; empty for none" example:"Studio North"`
}

// NamedAccount is the name of the account after the change.
type NamedAccount struct {
	Name string `json:"name"`
}

func (h *service) nameAccount() *Operation[NameAccountInput, NamedAccount] {
	return define(h, Meta{
		Name: "name_account", Title: "Name the account", Access: Users,
		Description: "Gives the account the name by which its people tell it from others. It costs nothing, and a " +
			"repeat changes nothing more.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, func(ctx context.Context, c *Call, in NameAccountInput) (NamedAccount, error) {
		if in.Name != "" {
			name, refusal := label("name", in.Name)
			if refusal != nil {
				return NamedAccount{}, refusal
			}
			in.Name = name
		}
		return NamedAccount(in), toFault(h.Store.NameAccount(ctx, c.Account.ID, c.author("settings"), in.Name),
			"account")
	})
}
