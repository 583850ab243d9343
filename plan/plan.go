// Package plan owns what is sold and how it is counted: plans, packs, route tiers, the price ladder and its rules, in integers
// only. It knows nothing of accounts, Stripe or Redis.
package plan

// Supply is the class of upstreams that may serve a call.
type Supply string

// The supply classes.
const (
	Public    Supply = "public"
	Wholesale Supply = "wholesale"
	Premium   Supply = "premium"
)
