package config

import "strings"

// TakesCards reports whether plans and packs are sold: STRIPE_SECRET_KEY is set. Everything else
// works without it.
func (c *Config) TakesCards() bool { return c.StripeSecretKey != "" }

// checkStripe checks what selling plans and packs needs.
func (c *Config) checkStripe(f *faults) {
	f.check(c.StripeSecretKey == "" || printable(c.StripeSecretKey) && (strings.HasPrefix(c.StripeSecretKey, "sk_") ||
		strings.HasPrefix(c.StripeSecretKey, "rk_")),
		"STRIPE_SECRET_KEY",
		"must be a secret key of Stripe, which begins with sk_, or a restricted one, which begins with rk_")
	if c.StripeAPIURL == "" {
		return
	}
	ok := validBase(c.StripeAPIURL)
	f.check(ok, "STRIPE_API_URL", "must be an http:// or https:// address without a query")
	f.check(!ok || guarded(c.StripeAPIURL), "STRIPE_API_URL",
		"must begin with https:// unless its host is this machine: the secret key is sent there")
	f.check(c.TakesCards(), "STRIPE_API_URL",
		"must be left out: STRIPE_SECRET_KEY is not set, so nothing is sent there")
}

// checkWebhooks checks the secret of Stripe's webhooks.
func (c *Config) checkWebhooks(f *faults) {
	if !c.TakesCards() {
		f.check(c.StripeWebhookSecret == "", "STRIPE_WEBHOOK_SECRET",
			"must be left out: STRIPE_SECRET_KEY is not set, so nothing is sold")
		return
	}
	f.need("STRIPE_WEBHOOK_SECRET", c.StripeWebhookSecret,
		"give the signing secret of Stripe's webhook endpoint; gateway ops billing setup says where it is")
	f.check(c.StripeWebhookSecret == "" || strings.HasPrefix(c.StripeWebhookSecret, "whsec_") &&
		printable(c.StripeWebhookSecret), "STRIPE_WEBHOOK_SECRET",
		"must be the signing secret of a webhook endpoint, which begins with whsec_")
}

// printable reports whether a secret consists of visible ASCII characters without spaces, as
// Stripe's do.
func printable(secret string) bool {
	return strings.IndexFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}
