package mcp

import (
	"github.com/chainaccess/gateway/service"
)

// doorTools are the tools that get a key, bind it to a wallet and let a person adopt it.
func doorTools(c *service.Registry) []*tool { return append(keyDoorTools(c), agentDoorTools(c)...) }

func keyDoorTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "get_key", title: "Get a key without sign-up", keyFree: true, ways: one(c.GetKey), hints: 0,
			about: about{
				Purpose: "Makes an anonymous API key for this gateway, with no human, no e-mail and no sign-up, and " +
					"shows it once.",
				Use: "You have no key yet. Store the key from the answer at once and send it as Authorization: " +
					"Bearer <key> from then on, here and on HTTP.",
				Instead: "To raise the limits of a key that you have, use bind_key_start (a wallet signs) or show " +
					"its claim code to an owner; create_api_key makes further keys of an owner's account.",
				Cost: "Free. The key lets 10,000 weighted units through each UTC day, at 5 requests a second.",
				Limits: "3 keys a UTC day from one network address. The key is shown here and never again; its claim " +
					"code (doorways.adopt) works once.",
				Fails: "-32024 this address has made its keys of the day: data.doorways lists the other ways. " +
					"-32021 or -32030 the service cannot make one now: call again in a minute. -32602 it takes no " +
					"parameters.",
				Again: "Each call makes another key and counts against the three: do not retry after a success.",
			},
		},
		{
			name: "bind_key_start", title: "Begin to bind this key to a wallet", ways: one(c.BindKeyStart),
			hints: idempotent,
			about: about{
				Purpose: "Gives the message (EIP-4361) that a wallet signs to bind the key of this request to itself.",
				Use: "The daily allowance of an anonymous key is too small and you hold a wallet: a bound key " +
					"has 1,000,000 units a month.",
				Instead: "claim_agent_start gives an agent of an owner's account a key of its own; get_key makes an " +
					"unbound key.",
				Cost: costsNothing,
				Limits: "For anonymous keys only, one key for each wallet. The message lives 10 minutes. No " +
					"transaction and no gas are needed.",
				Fails: holderFails + "-32028 not an anonymous key. -32025 the key or the wallet is bound already. " +
					fieldFails,
				Again: "A repeat gives a new message and ends the one before.",
			},
		},
		{
			name: "bind_key_complete", title: "Bind this key to a wallet", ways: one(c.BindKeyComplete),
			hints: idempotent,
			about: about{
				Purpose: "Binds the key of this request to the wallet that signed the message of bind_key_start; the " +
					"new limits hold when it answers.",
				Use: "Your wallet signed message_to_sign with personal_sign, exactly as it stands.",
				Instead: "Without a message yet, call bind_key_start; for an agent of an account, " +
					"claim_agent_complete.",
				Cost: costsNothing,
				Limits: "Signatures of keys (65 bytes) and of contract wallets (EIP-1271, EIP-6492). The message " +
					"lives 10 minutes.",
				Fails: holderFails +
					"-32028 not an anonymous key. -32025 the signature or its message does not fit: sign again, or " +
					"begin again. " + contractWallet + notInForce + fieldFails,
				Again: "The same key and wallet give the same answer. A wrong signature changes nothing and may be " +
					"corrected.",
			},
		},
	}
}

func agentDoorTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "claim_agent_start", title: "Begin to claim an agent", ways: one(c.ClaimAgentStart),
			hints: idempotent,
			about: about{
				Purpose: "Gives the message (EIP-4361) that an agent's wallet signs to become an agent of your " +
					"account with a key of its own.",
				Use: "You manage an account and want one of your agents to have a key with its own budget and " +
					"its own statements.",
				Instead: "create_api_key makes a key without a wallet; bind_key_start binds an anonymous key to its " +
					"holder's own wallet.",
				Cost:   costsNothing,
				Limits: "Keys that may manage the account. The message lives 10 minutes.",
				Fails:  managedFails + "-32025 the wallet cannot be claimed. " + fieldFails,
				Again:  "A repeat gives a new message and ends the one before.",
			},
		},
		{
			name: "claim_agent_complete", title: "Claim an agent", ways: one(c.ClaimAgentComplete), hints: 0,
			about: about{
				Purpose: "Makes the wallet that signed an agent of your account and shows the agent's new key once.",
				Use:     "The agent's wallet signed message_to_sign of claim_agent_start with personal_sign.",
				Instead: "bind_key_complete binds the key of this very request; list_api_keys with scope agents " +
					"shows agents that there are.",
				Cost: costsNothing,
				Limits: "The agent's key may use 50,000 units a month unless monthly_request_cap says otherwise; it " +
					"sees only its own usage and manages nothing.",
				Fails: managedFails + "-32025 the signature or its message does not fit. " + contractWallet +
					notInForce + fieldFails,
				Again: "While the message lives, a repeat gives a fresh key and ends the one before; afterwards " +
					"begin again.",
			},
		},
	}
}
