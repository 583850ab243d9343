package stripe

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// keptEvents is how long events can be read; Stripe's own limit.
const keptEvents = 30 * 24 * time.Hour

func (s *Server) routesOfEvents() {
	s.api("GET /v1/events/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Events) })
	s.api("GET /v1/events", listEvents)
	s.api("POST /v1/webhook_endpoints", createEndpoint)
	s.api("POST /v1/webhook_endpoints/{id}", updateEndpoint)
	s.api("GET /v1/webhook_endpoints/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Endpoints) })
	s.api("GET /v1/webhook_endpoints", func(s *Server, c *call) (any, error) {
		return page(c, s.Endpoints, func(*webhookEndpoint) bool { return true })
	})
	s.api("DELETE /v1/webhook_endpoints/{id}", deleteEndpoint)
}

// emit records an event with the object's present state, and queues its webhooks.
func (s *Server) emit(kind string, object any) {
	shown, err := s.view(object, nil)
	if err != nil {
		shown = map[string]any{}
	}
	e := &event{
		ID: s.newID("evt"), Object: "event", APIVersion: Version, Created: s.unix(), Data: eventData{shown},
		Request: s.request, Type: kind,
	}
	s.changed = true
	s.Events.add(e)
	for oldest := s.Events.made[0]; s.now.Sub(instant(oldest.Created)) > keptEvents; oldest = s.Events.made[0] {
		delete(s.Events.rows, oldest.ID)
		s.Events.made = s.Events.made[1:]
	}
	if s.o.WebhookURL != "" || s.o.Send != nil {
		s.enqueue(e, "")
	}
	for _, w := range s.Endpoints.made {
		if w.wants(kind) {
			s.enqueue(e, w.ID)
		}
	}
}

func (w *webhookEndpoint) wants(kind string) bool {
	return w.Status == "enabled" && (slices.Contains(w.EnabledEvents, "*") || slices.Contains(w.EnabledEvents, kind))
}

func listEvents(s *Server, c *call) (any, error) {
	kind := c.p.text("type")
	kinds, named := c.p.list("types")
	return page(c, s.Events, func(e *event) bool {
		prefix, wild := strings.CutSuffix(kind, "*")
		return (kind == "" || e.Type == kind || wild && strings.HasPrefix(e.Type, prefix)) &&
			(!named || slices.Contains(kinds, e.Type))
	})
}

func (w *webhookEndpoint) edit(in params) {
	if v, ok := in.lookup("url"); ok {
		w.URL = v
	}
	if kinds, ok := in.list("enabled_events"); ok {
		w.EnabledEvents = kinds
	}
	if v, ok := in.lookup("description"); ok {
		w.Description = word(v)
	}
	if off, ok := in.boolean("disabled"); ok {
		w.Status = map[bool]string{true: "disabled", false: "enabled"}[off]
	}
	w.Metadata = in.metadata(w.Metadata)
	if u, err := url.Parse(w.URL); err != nil || u.Host == "" {
		in.fail(invalid("url_invalid", "url", "Invalid URL: an explicit scheme (such as https) must be provided."))
	}
}

func createEndpoint(s *Server, c *call) (any, error) {
	w := &webhookEndpoint{
		thing: s.thing("we", "webhook_endpoint"), Status: "enabled",
		APIVersion: word(c.p.oneOf("api_version", "", Version)),
	}
	c.p.require("url")
	w.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if len(w.EnabledEvents) == 0 {
		return nil, invalid("parameter_missing", "enabled_events", "Missing required param: enabled_events.")
	}
	w.Secret = "whsec_" + s.newID("x")[2:]
	s.Endpoints.add(w)
	shown, err := plain(w)
	if fields, ok := shown.(map[string]any); ok { // the secret is shown only in this answer
		fields["secret"] = w.Secret
	}
	return shown, err
}

func updateEndpoint(s *Server, c *call) (any, error) {
	w, err := s.Endpoints.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	edited := *w
	edited.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	*w = edited
	return w, nil
}

func deleteEndpoint(s *Server, c *call) (any, error) {
	w, err := s.Endpoints.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	s.Endpoints.drop(w.ID)
	return map[string]any{"id": w.ID, "object": "webhook_endpoint", "deleted": true}, nil
}
