package console

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// adoptByProgram is POST /agents/adopt with a JSON body, from a program with an owner's session. It
// refuses with the error envelope, like the rest of the interface, and redirects to the agents page
// on success. It needs no CSRF token, because a page of another site cannot send JSON without a
// preflight request.
func (p *Pages) adoptByProgram(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", pageCaching)
	v := p.newRequest(w, r)
	adopted, err := v.adoptJSON() //nolint:contextcheck // v has the request and its context
	if err != nil {
		f := fault.From(err)
		if f.Reason == fault.InternalFault {
			p.Logger.Error("adoption failed", "request_id", v.request, "error", err)
		}
		p.Refuse(w, f)
		return
	}
	_ = v.backToAgents(url.Values{"adopted": {adopted.ID}}) // never fails
}

func (v *request) adoptJSON() (service.AdoptedKey, error) {
	if err := v.foreign.Check(v.r); err != nil {
		return service.AdoptedKey{}, fault.New(fault.FieldRefused,
			"The request comes from a page of another site (Origin, Sec-Fetch-Site), so nothing was done. "+
				"Send it from this site, or from a program without these headers.").Wrap(err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, maxFormBytes))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return service.AdoptedKey{}, fault.New(fault.BodyTooLarge, "")
		}
		return service.AdoptedKey{}, fault.New(fault.NotJSON, "The body could not be read. Send it again.").Wrap(err)
	}
	var in struct {
		ClaimCode string `json:"claim_code"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			return service.AdoptedKey{}, fault.New(fault.FieldRefused,
				"The body takes one object: {\"claim_code\": \"cagc_…\"}, a text.")
		}
		return service.AdoptedKey{}, fault.New(fault.NotJSON,
			"The body is not JSON. Send {\"claim_code\": \"cagc_…\"}.")
	}
	return ask(v, v.Calls.AdoptKey, service.AdoptKeyInput{ClaimCode: in.ClaimCode})
}

// sendsJSON reports whether a request's Content-Type is JSON.
func sendsJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
