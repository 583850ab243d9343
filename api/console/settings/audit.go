package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/keys"
)

// auditLines is the number of lines on a page of the audit log.
const auditLines = 100

const pathAudit = paths.Settings + "/audit"

// showAudit shows the log of changes, newest first, in pages.
func showAudit(v *site.Request) error {
	cursor := v.R.URL.Query().Get(view.CursorField)
	log, err := site.Ask(v, v.Calls.ListAudit, accounts.ListAuditInput{Limit: auditLines, Cursor: cursor})
	if site.MistakesOf(err, view.CursorField) != nil { // a URL that no page links to
		return v.NotFound()
	}
	if err != nil {
		return err
	}
	keys, err := site.Ask(v, v.Calls.ListKeys, keys.ListKeysInput{})
	if err != nil {
		return err
	}
	names := auditNames(&keys)
	p := auditPage{}
	for i := range log.Lines {
		p.Events = append(p.Events, eventOf(v, &log.Lines[i], names))
	}
	if log.NextCursor != "" {
		p.Older = view.PageAt(pathAudit, "", log.NextCursor)
	}
	if cursor != "" {
		p.Newest = pathAudit
	}
	return v.Show(http.StatusOK, p)
}

// auditNames returns the titles of keys by their ids.
func auditNames(keys *keys.KeyList) map[string]string {
	names := map[string]string{}
	for i := range keys.Keys {
		names[keys.Keys[i].ID] = view.KeyTitle(keys.Keys[i].Name, keys.Keys[i].Prefix)
	}
	return names
}

// Words for the names that the log uses.
var (
	originWords = map[string]string{
		"console": "in the console", "api": "by API", "mcp": "by agent tools", "ops": "by an operator",
	}
	fieldWords = strings.NewReplacer("_", " ")
)

func eventOf(v *site.Request, l *accounts.AuditLine, names map[string]string) view.Event {
	e := view.Event{
		When: v.Reader.Moment(l.At), What: actionWords(l.Action), Who: actorWords(l),
		Where: originWords[l.Origin], Changes: differences(l.Before, l.After),
	}
	if e.Where == "" {
		e.Where = l.Origin
	}
	if l.Reason != "" && !ownReasons[l.Reason] {
		e.Reason = l.Reason
	}
	if l.KeyID != "" {
		e.Of = view.Link{Text: names[l.KeyID], To: paths.Keys + "/" + l.KeyID}
		if e.Of.Text == "" {
			e.Of.Text = l.KeyID
		}
	}
	return e
}

// ownReasons are the reasons that the service itself records. They repeat the action, so they are
// not shown.
var ownReasons = map[string]bool{"created": true, "configured": true, "revoked": true, "settings": true}

// changesWords describe actions as events.
var changesWords = map[string]string{
	"open_account": "Account opened", "join_account": "Account joined", "update_account": "Settings changed",
	"name_account": "Account named", "configure_account": "Services changed", "create_key": "Key created",
	"configure_key": "Limits of a key changed", "revoke_key": "Key revoked", "bind_key": "Key bound to a wallet",
	"bind_wallet": "Wallet bound", "adopt_key": "Key adopted", "claim_agent": "Agent claimed",
	"invite_member": "Member invited", "revoke_invitation": "Invitation withdrawn", "change_member": "Role changed",
	"remove_member": "Member removed", "grant_pack": "Pack granted", "suspend_account": "Account suspended",
	"resume_account": "Account resumed", "set_cycle": "Cycle changed", "set_plan": "Plan changed",
	"set_enterprise": "Contract figures changed",
}

// actionWords describes an action. It returns the name of an action without words.
func actionWords(action string) string {
	if words, ok := changesWords[action]; ok {
		return words
	}
	text := strings.NewReplacer("_", " ", ".", " ").Replace(action)
	if text == "" {
		return "Change"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// actorWords names who made a change: a user by e-mail address, where there is one.
func actorWords(l *accounts.AuditLine) string {
	if l.ActorEmail != "" {
		return l.ActorEmail
	}
	if id, ok := strings.CutPrefix(l.Actor, "user "); ok {
		return "a former user (" + id + ")"
	}
	return l.Actor
}

// longestValue is how much of a value a line shows.
const longestValue = 200

// differences lists the values in which two documents differ.
func differences(before, after json.RawMessage) []view.Difference {
	was, is := flat(before), flat(after)
	names := slices.Sorted(maps.Keys(was))
	for name := range is {
		if _, known := was[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var all []view.Difference
	for _, name := range names {
		if was[name] != is[name] && name != "user" { // the id; the address is shown next to it
			all = append(all, view.Difference{Name: fieldWords.Replace(name), Before: was[name], After: is[name]})
		}
	}
	return all
}

// flat returns the members of a document as texts. Members of nested objects have both names.
func flat(document json.RawMessage) map[string]string {
	members := map[string]string{}
	var top map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(document)))
	decoder.UseNumber()
	if decoder.Decode(&top) != nil {
		return members
	}
	var walk func(prefix string, object map[string]any)
	walk = func(prefix string, object map[string]any) {
		for name, value := range object {
			if inner, ok := value.(map[string]any); ok {
				walk(prefix+name+" ", inner)
				continue
			}
			members[prefix+name] = valueText(value)
		}
	}
	walk("", top)
	return members
}

func valueText(value any) string {
	var text string
	switch v := value.(type) {
	case nil:
		return ""
	case bool:
		text = map[bool]string{true: "yes", false: "no"}[v]
	case json.Number:
		text = plan.Group(v.String())
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = valueText(part)
		}
		text = strings.Join(parts, ", ")
	default:
		text = fmt.Sprint(v)
	}
	if runes := []rune(text); len(runes) > longestValue {
		text = string(runes[:longestValue]) + "…"
	}
	return text
}
