package keys

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/agents"
)

// adoptByProgram is POST /agents/adopt with a JSON body, from a program with an owner's session. It
// redirects to the agents page on success.
func adoptByProgram(v *site.Request) error {
	adopted, err := adoptJSON(v)
	if err != nil {
		return err
	}
	return backToAgents(v, url.Values{"adopted": {adopted.ID}})
}

func adoptJSON(v *site.Request) (agents.AdoptedKey, error) {
	body, err := io.ReadAll(http.MaxBytesReader(v.W, v.R.Body, site.MaxFormBytes))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return agents.AdoptedKey{}, fault.New(fault.BodyTooLarge, "")
		}
		return agents.AdoptedKey{}, fault.New(fault.NotJSON, "The body could not be read. Send it again.").Wrap(err)
	}
	var in struct {
		ClaimCode string `json:"claim_code"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			return agents.AdoptedKey{}, fault.New(fault.FieldRefused,
				"The body takes one object: {\"claim_code\": \"cagc_…\"}, a text.")
		}
		return agents.AdoptedKey{}, fault.New(fault.NotJSON,
			"The body is not JSON. Send {\"claim_code\": \"cagc_…\"}.")
	}
	return site.Ask(v, v.Calls.AdoptKey, agents.AdoptKeyInput{ClaimCode: in.ClaimCode})
}
