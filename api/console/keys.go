package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service"
)

// keyPlaceholder replaces a key in commands.
const keyPlaceholder = "<API_KEY>"

// doorWords describe how a key was obtained.
var doorWords = map[account.Door][2]string{
	account.DoorPublic:  {"anonymous", "made by a program without sign-up"},
	account.DoorWallet:  {"wallet-bound", "made by a program and bound to a wallet"},
	account.DoorAdopted: {"adopted", "made by a program and adopted by this account"},
	account.DoorAccount: {"account", "made by this account"},
}

// keyRows formats keys: active ones and revoked ones, each newest first.
func (v *request) keyRows(keys []service.KeyView) (active, revoked []keyRow) {
	for i := range keys {
		row := v.keyRow(&keys[i])
		if keys[i].Status == account.Active {
			active = append(active, row)
		} else {
			revoked = append(revoked, row)
		}
	}
	slices.Reverse(active)
	slices.Reverse(revoked)
	return active, revoked
}

func (v *request) keyRow(k *service.KeyView) keyRow {
	row := keyRow{
		ID: k.ID, Name: keyTitle(k.Name, k.Prefix), Prefix: k.Prefix, Door: doorWords[k.Door][0], Agent: k.Agent,
		Cap: capWords(k.MonthlyRequestCap), Status: status{good, "active"}, Created: v.reader.moment(k.CreatedAt),
	}
	if k.Status != account.Active {
		row.Status = status{bad, string(k.Status)}
	}
	if k.LastUsedAt != nil {
		row.Used = v.reader.hour(*k.LastUsedAt)
	}
	return row
}

// keyTitle returns the name of a key, or its prefix when it has none.
func keyTitle(name, prefix string) string {
	if name == "" {
		return prefix
	}
	return name
}

func nameField(value, wrong string) field {
	return field{
		Name: "name", Label: "Name", Required: true, Most: 80, Value: value, Error: wrong, Autofocus: true,
		Rule: "What the key is for; up to 80 characters.",
	}
}

func keyCapField(value, wrong string) field {
	return field{
		Name: "monthly_request_cap", Label: "Monthly cap", Mode: "numeric", Most: 24, Value: value, Error: wrong,
		Rule: "Units that this key may use in a period. Leave empty for no cap.",
	}
}

// newKey shows the form for a new key.
func (v *request) newKey() error {
	return v.show(http.StatusOK, newKeyPage{Name: nameField("", ""), Cap: keyCapField("", "")})
}

// createKey creates a key. This answer is the only one that shows it.
func (v *request) createKey() error {
	name, capTyped := v.r.PostForm.Get("name"), v.r.PostForm.Get("monthly_request_cap")
	again := func(wrong mistakes) error {
		return v.show(http.StatusUnprocessableEntity, newKeyPage{
			Name: nameField(name, wrong["name"]), Cap: keyCapField(capTyped, wrong["monthly_request_cap"]),
		}, wrong.notices()...)
	}
	monthly, ok := parseUnits(capTyped)
	if !ok {
		return again(mistakes{"monthly_request_cap": wholeUnits})
	}
	in := service.CreateKeyInput{Name: name}
	if monthly > 0 {
		in.MonthlyRequestCap = &monthly
	}
	made, err := ask(v, v.Calls.CreateKey, in)
	if wrong := mistakesOf(err, "name", "monthly_request_cap"); wrong != nil {
		return again(wrong)
	}
	if err != nil {
		return err
	}
	return v.show(http.StatusCreated, secretPage{
		Heading: "Key created", Name: made.Name, Prefix: made.Prefix, Section: sectionKeys,
		Secret:    copyable{ID: "secret", What: "the API key", Text: made.PlaintextToken, Wrap: true},
		Stored:    link{"I have stored it", pathKeys + "/" + made.ID},
		FirstCall: firstCall(v.PublicURL),
	})
}

// findKey returns the key of the path. A key of another account is not found.
func (v *request) findKey() (*service.KeyView, error) {
	list, err := ask(v, v.Calls.ListKeys, service.ListKeysInput{})
	if err != nil {
		return nil, err
	}
	for i := range list.Keys {
		if list.Keys[i].ID == v.r.PathValue("id") {
			return &list.Keys[i], nil
		}
	}
	return nil, &refusal{
		status: http.StatusNotFound, heading: "There is no such key",
		text: "This account has no key at this address. Keys lists all of them.",
	}
}

// key shows a key with its fences.
func (v *request) key() error {
	k, err := v.findKey()
	if err != nil {
		return err
	}
	p, err := v.keyPage(k)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, p)
}

func (v *request) keyPage(k *service.KeyView) (keyPage, error) {
	fences, err := ask(v, v.Calls.ConfigureKey, service.ConfigureKeyInput{ID: k.ID})
	if err != nil {
		return keyPage{}, err
	}
	around, err := ask(v, v.Calls.ConfigureServices, service.ConfigureServicesInput{})
	if err != nil {
		return keyPage{}, err
	}
	p := keyPage{
		Key: v.keyRow(k), DoorMeaning: doorWords[k.Door][1], Cap: keyCapField(capText(k.MonthlyRequestCap), ""),
		Editable: k.Status == account.Active, Services: serviceLines(fences.Services, around.Services),
	}
	if k.Agent != "" {
		fleet, err := ask(v, v.Calls.ListAgents, service.Nothing{})
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
		p.Revoked = v.reader.moment(*k.RevokedAt)
	}
	return p, nil
}

// servicesOff lists the services that are switched off.
func servicesOff(off []account.Service) string {
	names := make([]string, len(off))
	for i, s := range off {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// serviceLines formats service fences. around are the fences of the account; nil for the account's
// own form.
func serviceLines(fences, around []service.ServiceFence) []serviceLine {
	var lines []serviceLine
	for i := range fences {
		f := &fences[i]
		line := serviceLine{
			Key: string(f.Service), Label: serviceWords[f.Service][0], About: serviceWords[f.Service][1], On: f.Enabled,
			Cap: capText(f.Cap), Used: f.Used.Grouped(),
		}
		for j := range around {
			if around[j].Service == f.Service {
				line.LockedOff = !around[j].Enabled
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// changeKey saves the fences of a key.
func (v *request) changeKey() error {
	k, err := v.findKey()
	if err != nil {
		return err
	}
	p, err := v.keyPage(k)
	if err != nil {
		return err
	}
	typed, sent := v.r.PostForm.Get("monthly_request_cap"), v.readServices()
	monthly, ok := parseUnits(typed)
	wrong := sent.wrong
	if !ok {
		wrong["monthly_request_cap"] = wholeUnits
	}
	if len(wrong) == 0 {
		in := service.ConfigureKeyInput{ID: k.ID, MonthlyRequestCap: &monthly, Caps: &sent.caps}
		if enabled, changed := switched(p.Services, sent.enabled); changed {
			in.Enabled = &enabled
		}
		_, err = ask(v, v.Calls.ConfigureKey, in)
		wrong = mistakesOf(err, append(serviceFields(), "monthly_request_cap")...)
		if wrong == nil && err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		p.Cap, p.Services = keyCapField(typed, wrong["monthly_request_cap"]), sent.again(p.Services, wrong)
		return v.show(http.StatusUnprocessableEntity, p, wrong.notices()...)
	}
	v.flash(good, "Limits saved", "They apply from the next call.")
	return v.redirect(pathKeys + "/" + k.ID)
}

// switched returns the services to switch on, and reports whether that is a change. A service that
// the account switched off is not in the form, and keeps its setting unless another service
// changes.
func switched(now []serviceLine, sent []string) (enabled []string, changed bool) {
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
func (v *request) confirmRevoke() error {
	k, err := v.findKey()
	if err != nil {
		return err
	}
	at := pathKeys + "/" + k.ID
	if k.Status != account.Active {
		return v.redirect(at)
	}
	p := confirmPage{
		Heading: "Revoke this key?", Subject: keyTitle(k.Name, k.Prefix) + ", " + k.Prefix + "…", Section: sectionKeys,
		CrumbsTo: append(slices.Clone(keysCrumb), link{keyTitle(k.Name, k.Prefix), at}),
		Stops:    []string{"Every call with this key, on every chain, at once. It gets 401 and code -32001."},
		Stays:    []string{"What it used stays on the account's statements.", "All other keys keep working."},
		Action:   at + "/revoke", Button: "Revoke key", Keep: link{"Keep it", at},
	}
	if k.LastUsedAt != nil {
		p.Stops = append(p.Stops, "It was last used "+v.reader.hour(*k.LastUsedAt).Relative+
			": programs that use it stop working.")
	}
	p.Stops = append(p.Stops, "It cannot be restored. Create a new key to replace it.")
	return v.show(http.StatusOK, p)
}

// revokeKey revokes a key.
func (v *request) revokeKey() error {
	revoked, err := ask(v, v.Calls.RevokeKey, service.RevokeKeyInput{APIKeyID: v.r.PathValue("id")})
	if err != nil {
		return err
	}
	v.flash(good, "Key revoked", strings.TrimSpace(revoked.Name+" is refused from now on."))
	return v.redirect(pathKeys)
}
