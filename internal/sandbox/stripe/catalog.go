package stripe

import (
	"slices"
	"strconv"
	"strings"
)

func (s *Server) routesOfCatalog() {
	s.api("POST /v1/products", createProduct)
	s.api("POST /v1/products/{id}", updateProduct)
	s.api("GET /v1/products/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Products) })
	s.api("GET /v1/products", listProducts)
	s.api("POST /v1/prices", createPrice)
	s.api("POST /v1/prices/{id}", updatePrice)
	s.api("GET /v1/prices/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Prices) })
	s.api("GET /v1/prices", listPrices)
	s.api("POST /v1/coupons", createCoupon)
	s.api("POST /v1/coupons/{id}", updateCoupon)
	s.api("GET /v1/coupons/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Coupons) })
	s.api("GET /v1/coupons", func(s *Server, c *call) (any, error) {
		return page(c, s.Coupons, func(*coupon) bool { return true })
	})
	s.api("DELETE /v1/coupons/{id}", deleteCoupon)
	s.api("POST /v1/tax_rates", createTaxRate)
	s.api("POST /v1/tax_rates/{id}", updateTaxRate)
	s.api("GET /v1/tax_rates/{id}", func(s *Server, c *call) (any, error) { return one(c, s.TaxRates) })
	s.api("GET /v1/tax_rates", listTaxRates)
}

// one returns the object that the path names.
func one[T row](c *call, t *table[T]) (any, error) {
	if err := c.p.done(); err != nil {
		return nil, err
	}
	return t.find(c.id, "id")
}

func (s *Server) unused(id, param string, exists bool) error {
	if exists {
		return invalid("resource_already_exists", param, "%s already exists.", id)
	}
	return nil
}

func createProduct(s *Server, c *call) (any, error) {
	p := &product{
		thing: s.thing("prod", "product"), Active: true, Type: c.p.oneOf("type", "service"), Name: c.p.require("name"),
	}
	if id := c.p.text("id"); id != "" {
		p.ID = id
	}
	p.edit(c.p)
	_, taken := s.Products.rows[p.ID]
	if err := errorsFirst(c.p.done(), s.unused(p.ID, "id", taken)); err != nil {
		return nil, err
	}
	p.Updated = s.unix()
	s.Products.add(p)
	s.emit("product.created", p)
	return p, nil
}

// edit applies the parameters that may change at any time.
func (p *product) edit(in params) {
	if v, ok := in.boolean("active"); ok {
		p.Active = v
	}
	if v, ok := in.lookup("name"); ok {
		p.Name = v
	}
	if v, ok := in.lookup("description"); ok {
		p.Description = word(v)
	}
	if v, ok := in.lookup("tax_code"); ok {
		p.TaxCode = word(v)
	}
	p.Metadata = in.metadata(p.Metadata)
}

func updateProduct(s *Server, c *call) (any, error) {
	p, err := s.Products.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	edited := *p
	edited.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	*p = edited
	p.Updated = s.unix()
	s.emit("product.updated", p)
	return p, nil
}

func listProducts(s *Server, c *call) (any, error) {
	ids, named := c.p.list("ids")
	want, filtered := c.p.boolean("active")
	return page(c, s.Products, func(p *product) bool {
		return (!named || slices.Contains(ids, p.ID)) && (!filtered || p.Active == want)
	})
}

func createPrice(s *Server, c *call) (any, error) {
	p := &price{
		thing: s.thing("price", "price"), Active: true, BillingScheme: c.p.oneOf("billing_scheme", "per_unit"),
		Type: "one_time",
	}
	p.Currency, p.Product = c.p.require("currency"), c.p.require("product")
	p.UnitAmount, _ = c.p.integer("unit_amount")
	c.p.require("unit_amount")
	p.UnitDecimal = strconv.FormatInt(p.UnitAmount, 10)
	if in := c.p.in("recurring"); c.p.any("recurring") {
		in.require("interval")
		p.Type = "recurring"
		p.Recurring = &recurring{
			Interval: in.oneOf("interval", "month", "year"), IntervalCount: 1,
			UsageType: in.oneOf("usage_type", "licensed"),
		}
		if n, ok := in.integer("interval_count"); ok {
			p.Recurring.IntervalCount = n
		}
	}
	p.TaxBehavior = c.p.oneOf("tax_behavior", "unspecified", "exclusive", "inclusive")
	key, transfer := s.editPrice(p, c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	switch {
	case p.UnitAmount < 0 || p.Recurring != nil && p.Recurring.IntervalCount < 1:
		return nil, invalid("parameter_invalid_integer", "unit_amount",
			"Amounts are not negative and intervals at least one.")
	case len(p.Currency) != 3 || strings.ToLower(p.Currency) != p.Currency:
		return nil, invalid("", "currency", "Invalid currency: %s. Write three lower-case letters.", p.Currency)
	}
	if _, err := s.Products.find(p.Product, "product"); err != nil {
		return nil, err
	}
	if err := s.nameKey(p, key, transfer); err != nil {
		return nil, err
	}
	s.Prices.add(p)
	s.emit("price.created", p)
	return p, nil
}

// editPrice applies the parameters that may change at any time, except the lookup key, which it
// returns.
func (s *Server) editPrice(p *price, in params) (key *string, transfer bool) {
	if v, ok := in.boolean("active"); ok {
		p.Active = v
	}
	if v, ok := in.lookup("nickname"); ok {
		p.Nickname = word(v)
	}
	if v, ok := in.lookup("lookup_key"); ok {
		key = &v
	}
	transfer, _ = in.boolean("transfer_lookup_key")
	p.Metadata = in.metadata(p.Metadata)
	return key, transfer
}

// nameKey sets a price's lookup key. At most one active price has a key.
func (s *Server) nameKey(p *price, key *string, transfer bool) error {
	if key == nil {
		return nil
	}
	for _, other := range s.Prices.rows {
		if *key == "" || other == p || other.ID == p.ID || string(other.LookupKey) != *key {
			continue
		}
		if !transfer {
			return invalid("", "lookup_key", "A price (`%s`) already uses that lookup key.", other.ID)
		}
		other.LookupKey = ""
	}
	p.LookupKey = word(*key)
	return nil
}

func updatePrice(s *Server, c *call) (any, error) {
	p, err := s.Prices.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	edited := *p
	key, transfer := s.editPrice(&edited, c.p)
	if v, ok := c.p.lookup("tax_behavior"); ok {
		edited.TaxBehavior = v
	}
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if err := s.nameKey(&edited, key, transfer); err != nil {
		return nil, err
	}
	*p = edited
	s.emit("price.updated", p)
	return p, nil
}

func listPrices(s *Server, c *call) (any, error) {
	const maxKeys = 10 // Stripe's limit
	keys, named := c.p.list("lookup_keys")
	product, kind, currency := c.p.text("product"), c.p.text("type"), c.p.text("currency")
	want, filtered := c.p.boolean("active")
	if len(keys) > maxKeys {
		return nil, invalid("", "lookup_keys", "At maxKeys %d lookup keys can be asked for.", maxKeys)
	}
	return page(c, s.Prices, func(p *price) bool {
		return (!named || slices.Contains(keys, string(p.LookupKey))) && (!filtered || p.Active == want) &&
			(product == "" || p.Product == product) && (kind == "" || p.Type == kind) &&
			(currency == "" || p.Currency == currency)
	})
}

func createCoupon(s *Server, c *call) (any, error) {
	k := &coupon{
		thing: s.thing("coupon", "coupon"), Duration: c.p.oneOf("duration", "once", "forever", "repeating"),
		Valid: true,
	}
	k.ID = k.ID[len("coupon_"):][:8]
	if id := c.p.text("id"); id != "" {
		k.ID = id
	}
	for name, field := range map[string]*number{
		"amount_off": &k.AmountOff, "percent_off": &k.PercentOff, "duration_in_months": &k.DurationInMonths,
		"max_redemptions": &k.MaxRedemptions,
	} {
		v, _ := c.p.integer(name)
		*field = number(v)
	}
	by, _ := c.p.integer("redeem_by")
	k.RedeemBy, k.Currency, k.Name = stamp(by), word(c.p.text("currency")), word(c.p.text("name"))
	k.Metadata = c.p.metadata(nil)
	products, limited := c.p.in("applies_to").list("products")
	if limited {
		k.AppliesTo = &appliesTo{products}
	}
	_, taken := s.Coupons.rows[k.ID]
	if err := errorsFirst(c.p.done(), s.unused(k.ID, "id", taken)); err != nil {
		return nil, err
	}
	switch {
	case (k.AmountOff == 0) == (k.PercentOff == 0):
		return nil, invalid("", "amount_off", "You must pass either amount_off or percent_off.")
	case k.AmountOff != 0 && k.Currency == "":
		return nil, invalid("parameter_missing", "currency", "You must pass currency when passing amount_off.")
	case (k.Duration == "repeating") != (k.DurationInMonths > 0):
		return nil, invalid("", "duration_in_months",
			"You must pass duration_in_months when passing duration=repeating, and only then.")
	case k.RedeemBy != 0 && instant(k.RedeemBy).Before(s.now):
		return nil, invalid("", "redeem_by", "redeem_by must be in the future.")
	}
	for _, id := range products {
		if _, err := s.Products.find(id, "applies_to[products]"); err != nil {
			return nil, err
		}
	}
	s.Coupons.add(k)
	s.emit("coupon.created", k)
	return k, nil
}

func updateCoupon(s *Server, c *call) (any, error) {
	k, err := s.Coupons.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	name, renamed := c.p.lookup("name")
	meta := c.p.metadata(k.Metadata)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if renamed {
		k.Name = word(name)
	}
	k.Metadata = meta
	s.emit("coupon.updated", k)
	return k, nil
}

func deleteCoupon(s *Server, c *call) (any, error) {
	k, err := s.Coupons.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	s.Coupons.drop(k.ID)
	s.emit("coupon.deleted", k)
	return map[string]any{"id": k.ID, "object": "coupon", "deleted": true}, nil
}

// redeemable returns an error unless a coupon can be applied now.
func (s *Server) redeemable(id, param string) error {
	k, err := s.Coupons.find(id, param)
	switch {
	case err != nil:
		return err
	case k.RedeemBy != 0 && !s.now.Before(instant(k.RedeemBy)), k.MaxRedemptions != 0 &&
		k.TimesRedeemed >= int64(k.MaxRedemptions):
		return invalid("coupon_expired", param, "Coupon expired: %s", id)
	}
	return nil
}

func createTaxRate(s *Server, c *call) (any, error) {
	t := &taxRate{thing: s.thing("txr", "tax_rate"), Active: true}
	t.DisplayName = c.p.require("display_name")
	percent := c.p.require("percentage")
	if _, err := strconv.ParseFloat(percent, 64); err != nil && percent != "" {
		return nil, invalid("", "percentage", "Invalid decimal: %s", percent)
	}
	t.Percentage = jsonDecimal(percent)
	t.Effective = t.Percentage
	c.p.require("inclusive")
	t.Inclusive, _ = c.p.boolean("inclusive")
	t.Country = word(c.p.text("country"))
	t.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	s.TaxRates.add(t)
	s.emit("tax_rate.created", t)
	return t, nil
}

func (t *taxRate) edit(in params) {
	if v, ok := in.boolean("active"); ok {
		t.Active = v
	}
	if v, ok := in.lookup("display_name"); ok {
		t.DisplayName = v
	}
	for name, field := range map[string]*word{
		"description": &t.Description, "jurisdiction": &t.Jurisdiction, "state": &t.State, "tax_type": &t.TaxType,
		"country": &t.Country,
	} {
		if v, ok := in.lookup(name); ok {
			*field = word(v)
		}
	}
	t.Metadata = in.metadata(t.Metadata)
}

func updateTaxRate(s *Server, c *call) (any, error) {
	t, err := s.TaxRates.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	edited := *t
	edited.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	*t = edited
	s.emit("tax_rate.updated", t)
	return t, nil
}

func listTaxRates(s *Server, c *call) (any, error) {
	want, filtered := c.p.boolean("active")
	inclusive, asked := c.p.boolean("inclusive")
	return page(c, s.TaxRates, func(t *taxRate) bool {
		return (!filtered || t.Active == want) && (!asked || t.Inclusive == inclusive)
	})
}

// errorsFirst returns the first error that is not nil.
func errorsFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
