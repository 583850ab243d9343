package stripe

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	maxBody = 1 << 20
	// keptReplies is how long idempotency keys are remembered; Stripe promises one day.
	keptReplies = 24 * time.Hour
)

// call is a request to the API.
type call struct {
	r      *http.Request
	id     string // in the path
	p      params
	expand []string
}

// reply is a stored answer to a request with an idempotency key.
type reply struct {
	Request string    `json:"request"` // digest
	Status  int       `json:"status"`
	Body    []byte    `json:"body"`
	At      time.Time `json:"at"`
}

type endpoint func(s *Server, c *call) (any, error)

// api serves one route of the API: it authenticates, replays the answer to a repeated idempotency
// key, and answers in JSON.
func (s *Server) api(pattern string, do endpoint) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			writeError(w, &apiError{
				Status: http.StatusRequestEntityTooLarge, Type: invalidRequest, Message: "The request is too large.",
			})
			return
		}
		status, answer, lost := s.answer(pattern, do, w, r, body)
		if lost {
			panic(http.ErrAbortHandler)
		}
		writeBody(w, status, answer)
	})
}

func (s *Server) answer(pattern string, do endpoint, w http.ResponseWriter, r *http.Request,
	body []byte,
) (status int, answer []byte, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	s.requests[pattern]++
	if s.down {
		return failure(&apiError{
			Status: http.StatusServiceUnavailable, Type: apiFailure,
			Message: "Stripe is down. This is the sandbox's doing.",
		})
	}
	if err := s.admit(r); err != nil {
		return failure(err)
	}
	s.request = eventRequest{ID: word(s.newID("req")), IdempotencyKey: word(r.Header.Get("Idempotency-Key"))}
	defer func() { s.request = eventRequest{} }()
	w.Header().Set("Request-Id", string(s.request.ID))
	w.Header().Set("Stripe-Version", Version)

	key, digest := string(s.request.IdempotencyKey), fingerprint(r, body)
	if r.Method == http.MethodPost && key != "" {
		if kept, ok := s.kept(key); ok {
			if kept.Request != digest {
				return failure(&apiError{
					Status: http.StatusBadRequest, Type: idempotencyError,
					Message: "Keys for idempotent requests can only be used with the same parameters they were first " +
						"used with. Key: " + key,
				})
			}
			w.Header().Set("Idempotent-Replayed", "true")
			return kept.Status, kept.Body, s.loses()
		}
	}
	status, answer, _ = s.run(do, r, body)
	if r.Method == http.MethodPost && key != "" && (status < 300 || status == http.StatusPaymentRequired) {
		s.Replies[key] = reply{Request: digest, Status: status, Body: answer, At: s.now}
	}
	if r.Method != http.MethodGet {
		s.changed = true
		s.save()
		lost = status < 300 && s.loses()
	}
	return status, answer, lost
}

// loses reports whether this answer is to be lost.
func (s *Server) loses() bool {
	if s.lose == 0 {
		return false
	}
	s.lose--
	return true
}

// run executes a request.
func (s *Server) run(do endpoint, r *http.Request, body []byte) (status int, answer []byte, lost bool) {
	sent, err := url.ParseQuery(string(body))
	if err != nil {
		return failure(invalid("", "", "The body is no form: %v", err))
	}
	for name, values := range r.URL.Query() {
		sent[name] = append(sent[name], values...)
	}
	c := &call{r: r, id: r.PathValue("id"), p: newParams(sent)}
	c.expand, _ = c.p.list("expand")
	found, err := do(s, c)
	if err != nil {
		return failure(err)
	}
	shown, err := s.view(found, c.expand)
	if err != nil {
		return failure(err)
	}
	text, err := marshal(shown)
	if err != nil {
		return failure(err)
	}
	return http.StatusOK, text, false
}

// admit checks the secret key and the API version.
func (s *Server) admit(r *http.Request) error {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if user, _, ok := r.BasicAuth(); ok {
		key = user
	}
	if key != s.o.SecretKey {
		return &apiError{Status: http.StatusUnauthorized, Type: invalidRequest, Message: "Invalid API Key provided."}
	}
	if v := r.Header.Get("Stripe-Version"); v != Version {
		return invalid("", "", "The sandbox speaks API version %s only, not %q.", Version, v)
	}
	return nil
}

// kept returns the answer stored under an idempotency key, and deletes expired ones.
func (s *Server) kept(key string) (reply, bool) {
	if s.now.Sub(s.swept) > time.Hour {
		s.swept = s.now
		for k := range s.Replies {
			if s.now.Sub(s.Replies[k].At) > keptReplies {
				delete(s.Replies, k)
			}
		}
	}
	r, ok := s.Replies[key]
	return r, ok && s.now.Sub(r.At) <= keptReplies
}

func fingerprint(r *http.Request, body []byte) string {
	sum := sha256.Sum256(append([]byte(r.Method+" "+r.URL.Path+"\n"), body...))
	return hex.EncodeToString(sum[:])
}

func failure(err error) (status int, answer []byte, lost bool) {
	var known *apiError
	if !errors.As(err, &known) {
		known = &apiError{Status: http.StatusInternalServerError, Type: apiFailure, Message: err.Error()}
	}
	text, err := marshal(map[string]any{"error": known})
	if err != nil {
		text = []byte(`{"error":{"type":"api_error","message":"the sandbox could not write its answer"}}`)
	}
	return known.Status, text, false
}

func writeError(w http.ResponseWriter, err error) {
	status, text, _ := failure(err)
	writeBody(w, status, text)
}
