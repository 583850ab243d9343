package stripe

import (
	"slices"
)

func (s *Server) routesOfPortal() {
	s.api("POST /v1/billing_portal/configurations", createConfiguration)
	s.api("POST /v1/billing_portal/configurations/{id}", updateConfiguration)
	s.api("GET /v1/billing_portal/configurations/{id}", func(s *Server, c *call) (any, error) {
		return one(c, s.Configurations)
	})
	s.api("GET /v1/billing_portal/configurations", listConfigurations)
	s.api("POST /v1/billing_portal/sessions", createPortalSession)
}

func createConfiguration(s *Server, c *call) (any, error) {
	g := &portalConfiguration{
		thing: s.thing("bpc", "billing_portal.configuration"), Active: true, IsDefault: len(s.Configurations.made) == 0,
		BusinessProfile: map[string]any{},
	}
	if !c.p.any("features") {
		return nil, invalid("parameter_missing", "features", "Missing required param: features.")
	}
	g.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	g.Updated = s.unix()
	s.Configurations.add(g)
	return g, nil
}

func (g *portalConfiguration) edit(in params) {
	if v, ok := in.boolean("active"); ok {
		g.Active = v
	}
	profile := map[string]any{}
	for _, name := range []string{"headline", "privacy_policy_url", "terms_of_service_url"} {
		profile[name] = g.BusinessProfile[name]
		if v, ok := in.in("business_profile").lookup(name); ok {
			profile[name] = v
		}
	}
	g.BusinessProfile = profile
	if v, ok := in.lookup("default_return_url"); ok {
		g.DefaultReturnURL = word(v)
	}
	on := func(p params, field *bool) {
		if v, ok := p.boolean("enabled"); ok {
			*field = v
		}
	}
	f, features := &g.Features, in.in("features")
	on(features.in("customer_update"), &f.CustomerUpdate.Enabled)
	if v, ok := features.in("customer_update").list("allowed_updates"); ok {
		f.CustomerUpdate.AllowedUpdates = v
	}
	on(features.in("invoice_history"), &f.InvoiceHistory.Enabled)
	on(features.in("payment_method_update"), &f.PaymentMethodUpdate.Enabled)
	on(features.in("subscription_pause"), &f.SubscriptionPause.Enabled)
	on(features.in("subscription_update"), &f.SubscriptionUpdate.Enabled)
	cancel := features.in("subscription_cancel")
	on(cancel, &f.SubscriptionCancel.Enabled)
	f.SubscriptionCancel.Mode = cancel.oneOf("mode", or(f.SubscriptionCancel.Mode, "at_period_end"), "at_period_end",
		"immediately")
	prorate := or(f.SubscriptionCancel.Prorate, "none")
	f.SubscriptionCancel.Prorate = cancel.oneOf("proration_behavior", prorate, "none", "create_prorations",
		"always_invoice")
	for _, list := range []*[]string{&f.CustomerUpdate.AllowedUpdates, &f.SubscriptionUpdate.AllowedUpdates} {
		if *list == nil {
			*list = []string{}
		}
	}
	f.SubscriptionUpdate.Prorate = or(f.SubscriptionUpdate.Prorate, "none")
	g.Metadata = in.metadata(g.Metadata)
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func updateConfiguration(s *Server, c *call) (any, error) {
	g, err := s.Configurations.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	edited := *g
	edited.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	*g = edited
	g.Updated = s.unix()
	return g, nil
}

func listConfigurations(s *Server, c *call) (any, error) {
	want, filtered := c.p.boolean("active")
	standard, asked := c.p.boolean("is_default")
	return page(c, s.Configurations, func(g *portalConfiguration) bool {
		return (!filtered || g.Active == want) && (!asked || g.IsDefault == standard)
	})
}

func createPortalSession(s *Server, c *call) (any, error) {
	v := &portalSession{
		thing: s.thing("bps", "billing_portal.session"), Customer: c.p.require("customer"),
		Locale: word(c.p.text("locale")),
	}
	v.Configuration, v.ReturnURL = c.p.text("configuration"), word(c.p.text("return_url"))
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if _, err := s.liveCustomer(v.Customer, "customer"); err != nil {
		return nil, err
	}
	if v.Configuration == "" {
		i := slices.IndexFunc(s.Configurations.made, func(g *portalConfiguration) bool {
			return g.IsDefault && g.Active
		})
		if i < 0 {
			return nil, invalid("", "",
				"No configuration provided and your test mode default configuration has not been created. "+
					"Provide a configuration or create your default by saving your customer portal settings.")
		}
		v.Configuration = s.Configurations.made[i].ID
	}
	g, err := s.Configurations.find(v.Configuration, "configuration")
	if err != nil {
		return nil, err
	}
	if v.ReturnURL == "" {
		v.ReturnURL = g.DefaultReturnURL
	}
	v.URL = base(c.r) + "/portal/" + v.ID
	s.Portals.add(v)
	return v, nil
}
