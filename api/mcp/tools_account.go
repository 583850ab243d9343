package mcp

import (
	"github.com/chainaccess/gateway/service"
)

// accountTools are the tools that manage an account.
func accountTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "configure_services", title: "Read or change the account's services", ways: one(c.ConfigureServices),
			hints: idempotent,
			about: about{
				Purpose: "Reads which services all keys of the account may use, their monthly caps and what was " +
					"used, or changes them; a change holds when it answers.",
				Use: "To switch a service on that was refused (-32012), or to cap what one may cost. Without " +
					"arguments it reads.",
				Instead: "configure_key does the same for one key.",
				Cost:    costsNothing,
				Limits: "Services: rpc, data, gas, tx_status, ens, prices, contracts, utils. enabled and caps are " +
					"full lists.",
				Fails: managedFails + notInForce + fieldFails,
				Again: "The same arguments change nothing more.",
			},
		},
		{
			name: "update_account", title: "Read or change account settings", ways: one(c.UpdateAccount),
			hints: idempotent,
			about: about{
				Purpose: "Changes the account's notification preferences, its time zone, and what it tells of " +
					"itself; only fields that you pass change.",
				Use: "To be warned at 80 or 100 % of the allowance or of incidents, or to tell which chains are " +
					"missed. Without arguments it reads.",
				Instead: "configure_services and configure_key change limits; manage_feedback asks for a chain or a " +
					"feature in words.",
				Cost:   costsNothing,
				Limits: "Values are those of the lists; wish_chain_other has 60 characters.",
				Fails:  managedFails + fieldFails,
				Again:  "The same arguments change nothing more.",
			},
		},
	}
}
