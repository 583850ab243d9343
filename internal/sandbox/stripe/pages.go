package stripe

import (
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

//go:embed pages.html
var pagesText string

var pages = template.Must(
	template.New("pages").Funcs(template.FuncMap{"dollars": dollars, "day": func(at stamp) string {
		return instant(at).Format("2 January 2006")
	}}).Parse(pagesText))

const (
	// pagePolicy lets nothing run or load. Forms may redirect elsewhere: back to the seller.
	pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
	// portalAfter is how long a portal session can be opened.
	portalAfter = time.Hour
	maxPageBody = 16 << 10
)

func (s *Server) routesOfPages() {
	s.page("GET /pay/{id}", showCheckout)
	s.page("POST /pay/{id}", payCheckout)
	s.page("GET /portal/{id}", showPortal)
	s.page("POST /portal/{id}", usePortal)
	s.page("GET /invoice/{id}", showInvoice)
	s.page("POST /invoice/{id}", payOnPage)
}

// sheet is the content of a page.
type sheet struct {
	Name   string // of the template
	Status int
	Error  string // shown to the person
	Data   any
	Goto   string // redirects there in place of a page
}

type visit struct {
	id   string
	form url.Values
}

// page serves a page for people. It is not counted in Requests.
func (s *Server) page(pattern string, do func(s *Server, v visit) sheet) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxPageBody)
		if err := r.ParseForm(); err != nil {
			http.Error(w, "this form is too large, or none", http.StatusBadRequest)
			return
		}
		// Prevent CSRF: another site's page must not pay.
		if from := r.Header.Get("Origin"); r.Method == http.MethodPost && from != "" && from != "null" &&
			from != base(r) {
			http.Error(w, "this form came from another page than ours", http.StatusForbidden)
			return
		}
		s.mu.Lock()
		s.follow()
		got := do(s, visit{r.PathValue("id"), r.PostForm})
		if r.Method == http.MethodPost {
			s.changed = true
			s.save()
		}
		text, err := got.render()
		s.mu.Unlock()
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		switch {
		case err != nil:
			http.Error(w, "the sandbox could not write this page: "+err.Error(), http.StatusInternalServerError)
			return
		case got.Goto != "":
			http.Redirect(w, r, got.Goto, http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(got.Status)
		_, _ = w.Write([]byte(text)) // the client may have disconnected
	})
}

// render renders the page while the state is locked.
func (g *sheet) render() (string, error) {
	if g.Goto != "" {
		return "", nil
	}
	if g.Status == 0 {
		g.Status = http.StatusOK
	}
	var text strings.Builder
	err := pages.ExecuteTemplate(&text, g.Name, g)
	return text.String(), err
}

// nowhere returns the page for an unknown address.
func nowhere() sheet { return sheet{Name: "nowhere", Status: http.StatusNotFound} }

// sentence returns the message about an error that a person sees.
func sentence(err error) string {
	if known, ok := errors.AsType[*apiError](err); ok {
		return known.Message
	}
	return err.Error()
}

type checkoutPage struct {
	*session
	Item  *lineItem
	Price *price
	Email string
	// Country is the form's initial value; Ask reports whether the form has the field.
	Country string
	Ask     bool
}

func showCheckout(s *Server, v visit) sheet {
	x, ok := s.Sessions.rows[v.id]
	if !ok {
		return nowhere()
	}
	p := checkoutPage{session: x, Item: x.LineItems.Data[0], Ask: x.AddressUpdate || x.Customer == ""}
	p.Price = s.Prices.rows[p.Item.Price]
	if u := s.Customers.rows[string(x.Customer)]; u != nil {
		p.Email = string(u.Email)
		if u.Address != nil {
			p.Country = string(u.Address.Country)
		}
	}
	return sheet{Name: "checkout", Data: p}
}

func payCheckout(s *Server, v visit) sheet {
	x, ok := s.Sessions.rows[v.id]
	if !ok {
		return nowhere()
	}
	country := strings.ToUpper(strings.TrimSpace(v.form.Get("country")))
	if err := s.pay(x, Card(v.form.Get("card")), country); err != nil {
		shown := showCheckout(s, v)
		shown.Status, shown.Error = http.StatusPaymentRequired, sentence(err)
		return shown
	}
	return sheet{Goto: strings.ReplaceAll(string(x.SuccessURL), sessionMark, x.ID)}
}

type portalPage struct {
	*portalSession
	Customer      *customer
	Card          *cardDetails
	Subscriptions []portalSubscription
	Invoices      []*invoice
	May           portalFeatures
	Address       bool // may be changed
}

type portalSubscription struct {
	*subscription
	Name  string
	Price *price
}

// portalOf returns a portal session that is still open.
func (s *Server) portalOf(id string) (*portalSession, bool) {
	p, ok := s.Portals.rows[id]
	return p, ok && s.now.Sub(instant(p.Created)) <= portalAfter && !s.Customers.rows[p.Customer].Gone
}

func showPortal(s *Server, v visit) sheet {
	session, ok := s.portalOf(v.id)
	if !ok {
		return nowhere()
	}
	p := portalPage{
		portalSession: session, Customer: s.Customers.rows[session.Customer],
		May: s.Configurations.rows[session.Configuration].Features,
	}
	p.Address = p.May.CustomerUpdate.Enabled && slices.Contains(p.May.CustomerUpdate.AllowedUpdates, "address")
	if m := s.Methods.rows[string(p.Customer.InvoiceSettings.DefaultPaymentMethod)]; m != nil {
		p.Card = &m.Card
	}
	for _, sub := range s.Subscriptions.all(func(x *subscription) bool {
		return x.Customer == p.Customer.ID && !x.ended()
	}) {
		price := s.Prices.rows[sub.item().Price]
		p.Subscriptions = append(p.Subscriptions, portalSubscription{sub, s.Products.rows[price.Product].Name, price})
		if m := s.methodOf(sub); m != nil {
			p.Card = &m.Card
		}
	}
	if p.May.InvoiceHistory.Enabled {
		p.Invoices = s.Invoices.all(func(i *invoice) bool { return i.Customer == p.Customer.ID && i.Status != draft })
		slices.Reverse(p.Invoices)
	}
	return sheet{Name: "portal", Data: p}
}

var errNotOffered = errors.New("this portal does not offer that")

func usePortal(s *Server, v visit) sheet {
	session, ok := s.portalOf(v.id)
	if !ok {
		return nowhere()
	}
	if err := s.portalDo(session, v.form); err != nil {
		shown := showPortal(s, v)
		shown.Status, shown.Error = http.StatusPaymentRequired, sentence(err)
		return shown
	}
	return sheet{Goto: v.id} // relative: redirects to the page itself, so that a reload repeats nothing
}

func (s *Server) portalDo(session *portalSession, form url.Values) error {
	page, ok := showPortal(s, visit{id: session.ID}).Data.(portalPage)
	if !ok {
		return errNotOffered
	}
	what, id := form.Get("do"), form.Get("id")
	switch {
	case what == "card" && page.May.PaymentMethodUpdate.Enabled:
		return s.setCard(page.Customer, Card(form.Get("card")))
	case what == "country" && page.Address:
		country := strings.ToUpper(strings.TrimSpace(form.Get("country")))
		if len(country) != 2 {
			return invalid("", "country", "Give the country's code of two letters, DE for instance.")
		}
		s.setCountry(page.Customer, country)
		return nil
	case (what == "cancel" || what == "resume") && page.May.SubscriptionCancel.Enabled:
		sub := s.Subscriptions.rows[id]
		if sub == nil || sub.Customer != session.Customer || sub.ended() {
			return errNotOffered
		}
		_, err := s.apply(sub, &edit{atEnd: what == "cancel", atEndTold: true, metadata: sub.Metadata})
		return err
	case what == "pay" && page.May.InvoiceHistory.Enabled:
		i := s.Invoices.rows[id]
		if i == nil || i.Customer != session.Customer {
			return errNotOffered
		}
		return s.payNow(i, nil)
	}
	return errNotOffered
}

func showInvoice(s *Server, v visit) sheet {
	i, ok := s.Invoices.rows[v.id]
	if !ok || i.Status == draft {
		return nowhere()
	}
	return sheet{Name: "invoice", Data: i}
}

// payOnPage pays an open invoice with a typed card, which is not stored.
func payOnPage(s *Server, v visit) sheet {
	i, ok := s.Invoices.rows[v.id]
	if !ok || i.Status == draft {
		return nowhere()
	}
	m, err := s.method(Card(v.form.Get("card")), billingDetails{})
	if err == nil {
		err = s.payNow(i, m)
	}
	if err != nil {
		shown := showInvoice(s, v)
		shown.Status, shown.Error = http.StatusPaymentRequired, sentence(err)
		return shown
	}
	return sheet{Goto: v.id}
}
