package keys

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
)

func nameField(value, wrong string) view.Field {
	return view.Field{
		Name: "name", Label: "Name", Required: true, Most: 80, Value: value, Error: wrong, Autofocus: true,
		Rule: "What the key is for; up to 80 characters.",
	}
}

func keyCapField(value, wrong string) view.Field {
	return view.Field{
		Name: "monthly_request_cap", Label: "Monthly cap", Mode: "numeric", Most: 24, Value: value, Error: wrong,
		Rule: "Units that this key may use in a period. Leave empty for no cap.",
	}
}

// showNewKey shows the form for a new key.
func showNewKey(v *site.Request) error {
	return v.Show(http.StatusOK, newKeyPage{Name: nameField("", ""), Cap: keyCapField("", "")})
}

// createKey creates a key. This answer is the only one that shows it.
func createKey(v *site.Request) error {
	name, capTyped := v.R.PostForm.Get("name"), v.R.PostForm.Get("monthly_request_cap")
	again := func(wrong site.Mistakes) error {
		return v.Show(http.StatusUnprocessableEntity, newKeyPage{
			Name: nameField(name, wrong["name"]), Cap: keyCapField(capTyped, wrong["monthly_request_cap"]),
		}, wrong.Notices()...)
	}
	monthly, ok := site.ParseUnits(capTyped)
	if !ok {
		return again(site.Mistakes{"monthly_request_cap": site.WholeUnits})
	}
	in := keys.CreateKeyInput{Name: name}
	if monthly > 0 {
		in.MonthlyRequestCap = &monthly
	}
	made, err := site.Ask(v, v.Calls.CreateKey, in)
	if wrong := site.MistakesOf(err, "name", "monthly_request_cap"); wrong != nil {
		return again(wrong)
	}
	if err != nil {
		return err
	}
	return v.Show(http.StatusCreated, secretPage{
		Heading: "Key created", Name: made.Name, Prefix: made.Prefix, Section: view.SectionKeys,
		Secret:    view.Copyable{ID: "secret", What: "the API key", Text: made.PlaintextToken, Wrap: true},
		Stored:    view.Link{Text: "I have stored it", To: paths.Keys + "/" + made.ID},
		FirstCall: view.FirstCall(v.PublicURL),
	})
}

// findKey returns the key of the path. A key of another account is not found.
func findKey(v *site.Request) (*keys.KeyView, error) {
	list, err := site.Ask(v, v.Calls.ListKeys, keys.ListKeysInput{})
	if err != nil {
		return nil, err
	}
	for i := range list.Keys {
		if list.Keys[i].ID == v.R.PathValue("id") {
			return &list.Keys[i], nil
		}
	}
	return nil, &site.PageError{
		Status: http.StatusNotFound, Heading: "There is no such key",
		Text: "This account has no key at this address. Keys lists all of them.",
	}
}

// showKey shows a key with its limits.
func showKey(v *site.Request) error {
	k, err := findKey(v)
	if err != nil {
		return err
	}
	p, err := keyPageOf(v, k)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, p)
}

func keyPageOf(v *site.Request, k *keys.KeyView) (keyPage, error) {
	limits, err := site.Ask(v, v.Calls.ConfigureKey, keys.ConfigureKeyInput{ID: k.ID})
	if err != nil {
		return keyPage{}, err
	}
	around, err := site.Ask(v, v.Calls.ConfigureServices, keys.ConfigureServicesInput{})
	if err != nil {
		return keyPage{}, err
	}
	p := keyPage{
		Key: v.Reader.KeyRow(k), DoorMeaning: view.DoorWords[k.Door][1],
		Cap:      keyCapField(view.CapText(k.MonthlyRequestCap), ""),
		Editable: k.Status == account.Active, Services: view.ServiceLines(limits.Services, around.Services),
	}
	if k.Agent != "" {
		fleet, err := site.Ask(v, v.Calls.ListAgents, operation.Nothing{})
		if err != nil {
			return keyPage{}, err
		}
		for i := range fleet.Agents {
			if fleet.Agents[i].ID == k.Agent {
				p.Key.Agent = fleet.Agents[i].Name
			}
		}
	}
	if k.RevokedAt != nil {
		p.Revoked = v.Reader.Moment(*k.RevokedAt)
	}
	return p, nil
}

// changeKey saves the limits of a key.
func changeKey(v *site.Request) error {
	k, err := findKey(v)
	if err != nil {
		return err
	}
	p, err := keyPageOf(v, k)
	if err != nil {
		return err
	}
	typed, sent := v.R.PostForm.Get("monthly_request_cap"), v.ReadServices()
	monthly, ok := site.ParseUnits(typed)
	wrong := sent.Wrong
	if !ok {
		wrong["monthly_request_cap"] = site.WholeUnits
	}
	if len(wrong) == 0 {
		in := keys.ConfigureKeyInput{ID: k.ID, MonthlyRequestCap: &monthly, Caps: &sent.Caps}
		if enabled, changed := switched(p.Services, sent.Enabled); changed {
			in.Enabled = &enabled
		}
		_, err = site.Ask(v, v.Calls.ConfigureKey, in)
		wrong = site.MistakesOf(err, append(site.ServiceFields(), "monthly_request_cap")...)
		if wrong == nil && err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		p.Cap, p.Services = keyCapField(typed, wrong["monthly_request_cap"]), sent.Again(p.Services, wrong)
		return v.Show(http.StatusUnprocessableEntity, p, wrong.Notices()...)
	}
	v.Flash(view.Good, "Limits saved", "They apply from the next call.")
	return v.Redirect(paths.Keys + "/" + k.ID)
}

// switched returns the services to switch on, and reports whether that is a change. A service that
// the account switched off is not in the form, and keeps its setting unless another service
// changes.
func switched(now []view.ServiceLine, sent []string) (enabled []string, changed bool) {
	for _, line := range now {
		on := slices.Contains(sent, line.Key)
		if line.LockedOff {
			continue
		}
		changed = changed || on != line.On
		if on {
			enabled = append(enabled, line.Key)
		}
	}
	if enabled == nil {
		enabled = []string{}
	}
	return enabled, changed
}

// confirmRevoke asks for confirmation before a key is revoked.
func confirmRevoke(v *site.Request) error {
	k, err := findKey(v)
	if err != nil {
		return err
	}
	at := paths.Keys + "/" + k.ID
	if k.Status != account.Active {
		return v.Redirect(at)
	}
	p := view.ConfirmPage{
		Heading: "Revoke this key?", Subject: view.KeyTitle(k.Name, k.Prefix) + ", " + k.Prefix + "…",
		Section:  view.SectionKeys,
		CrumbsTo: append(slices.Clone(keysCrumb), view.Link{Text: view.KeyTitle(k.Name, k.Prefix), To: at}),
		Stops:    []string{"Every call with this key, on every chain, at once. It gets 401 and code -32001."},
		Stays:    []string{"What it used stays on the account's statements.", "All other keys keep working."},
		Action:   at + "/revoke", Button: "Revoke key", Keep: view.Link{Text: "Keep it", To: at},
	}
	if k.LastUsedAt != nil {
		p.Stops = append(p.Stops, "It was last used "+v.Reader.Hour(*k.LastUsedAt).Relative+
			": programs that use it stop working.")
	}
	p.Stops = append(p.Stops, "It cannot be restored. Create a new key to replace it.")
	return v.Show(http.StatusOK, p)
}

// revokeKey revokes a key.
func revokeKey(v *site.Request) error {
	revoked, err := site.Ask(v, v.Calls.RevokeKey, keys.RevokeKeyInput{APIKeyID: v.R.PathValue("id")})
	if err != nil {
		return err
	}
	v.Flash(view.Good, "Key revoked", strings.TrimSpace(revoked.Name+" is refused from now on."))
	return v.Redirect(paths.Keys)
}
