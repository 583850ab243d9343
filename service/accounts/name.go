package accounts

import (
	"context"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// NameAccountInput is the new name of an account.
type NameAccountInput struct {
	Name string `json:"name" maxLength:"80" doc:"by which people tell the account from their others, up to 80 characters; empty for none" example:"Studio North"`
}

// NamedAccount is the name of the account after the change.
type NamedAccount struct {
	Name string `json:"name"`
}

func (h *handlers) nameAccount() *operation.Operation[NameAccountInput, NamedAccount] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "name_account", Title: "Name the account", Access: operation.Users,
		Description: "Gives the account the name by which its people tell it from others. It costs nothing, and a " +
			"repeat changes nothing more.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, func(ctx context.Context, c *operation.Call, in NameAccountInput) (NamedAccount, error) {
		if in.Name != "" {
			name, refusal := operation.Label("name", in.Name)
			if refusal != nil {
				return NamedAccount{}, refusal
			}
			in.Name = name
		}
		return NamedAccount(in),
			operation.ToFault(h.Store.NameAccount(ctx, c.Account.ID, c.Author("settings"), in.Name),
				"account")
	})
}
