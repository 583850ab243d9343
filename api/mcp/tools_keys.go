package mcp

import (
	"github.com/chainaccess/gateway/service"
)

// keyTools are the tools that manage the keys of an account.
func keyTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "create_api_key", title: "Create an API key", ways: one(c.CreateKey), hints: 0,
			about: about{
				Purpose: "Creates a further key of your account and shows it once as plaintext_token.",
				Use:     "A program of yours should have a key of its own, with a budget that ends with it.",
				Instead: "get_key needs no account; claim_agent_start gives an agent a key that is tied to its wallet.",
				Cost:    costsNothing,
				Limits:  "1,000 active keys. The plaintext is shown here and never again.",
				Fails:   managedFails + fieldFails,
				Again: "Each call makes another key: list_api_keys shows whether one that you lost the answer of " +
					"was made.",
			},
		},
		{
			name: "configure_key", title: "Read or change a key's limits", ways: one(c.ConfigureKey), hints: idempotent,
			about: about{
				Purpose: "Reads a key's monthly cap, its services and their caps with what was used, or changes " +
					"those that you pass; a change holds when it answers.",
				Use: "To bound what one key may spend, or to open what it was refused (-32006, -32012, -32014). " +
					"With id alone it reads.",
				Instead: "configure_services is about the whole account; revoke_api_key ends a key.",
				Cost:    costsNothing,
				Limits: "A key is never wider than its account. Caps count weighted units of a period. enabled and " +
					"caps are full lists.",
				Fails: managedFails + "-32026 no key of yours has this id. " + notInForce + fieldFails,
				Again: "The same arguments change nothing more.",
			},
		},
		{
			name: "revoke_api_key", title: "Revoke an API key", ways: one(c.RevokeKey), hints: destructive | idempotent,
			about: about{
				Purpose: "Ends a key for good: its calls stop before this answers.",
				Use:     "A key leaked, or is needed no more.",
				Instead: "To stop a key for a while set its cap or services with configure_key.",
				Cost:    costsNothing,
				Limits:  "Not restorable. It may be the very key of this request, which then stops working.",
				Fails: managedFails + "-32026 no key of yours has this id: list_api_keys shows them. " + notInForce +
					fieldFails,
				Again: "The same answer.",
			},
		},
		{
			name: "list_api_keys", title: "List keys or agents", ways: one(c.ListKeys), hints: readOnly | idempotent,
			about: about{
				Purpose: "Lists the keys of your account with their limits (scope keys), or its agents (scope " +
					"agents), never in plaintext.",
				Use:     "To find the id of a key, or who of your fleet used it last.",
				Instead: "configure_key with an id reads one key with what it used; get_usage tells usage by key.",
				Cost:    costsNothing,
				Limits:  "All of them in one answer, revoked ones too, at most some thousands.",
				Fails:   managedFails + fieldFails,
				Again:   "Safe.",
			},
		},
	}
}
