package keys

import "github.com/chainaccess/gateway/api/console/view"

// keysPage lists keys of an account.
type keysPage struct {
	Keys     []view.KeyRow
	Total    int // keys of the account, listed or not
	Filters  []view.Filter
	Status   string // the listed ones; empty for active
	Find     view.Field
	Findable bool
	// On one of several pages: its position, and the URLs of the previous and the next page; empty
	// where there is none.
	Pages, Newer, Older string
	Empty               *view.Empty
}

func (keysPage) Head() view.Head {
	return view.Head{
		Template: "keys", Title: "Keys", Section: view.SectionKeys,
		Scripts: []string{view.ScriptCopy, view.ScriptTable},
	}
}

var keysCrumb = []view.Link{{Text: "Keys", To: "/keys"}}

// newKeyPage shows the form for a new key.
type newKeyPage struct {
	Name, Cap view.Field
}

func (newKeyPage) Head() view.Head {
	return view.Head{
		Template: "newkey", Title: "Create a key", Section: view.SectionKeys, Crumbs: keysCrumb,
		Scripts: []string{view.ScriptForms},
	}
}

// secretPage shows a new key once.
type secretPage struct {
	Heading, Name string
	Secret        view.Copyable
	Prefix        string
	Stored        view.Link // "I have stored it"
	FirstCall     view.Copyable
	Section       string
}

func (p secretPage) Head() view.Head {
	h := view.Head{
		Template: "secret", Title: p.Heading, Section: p.Section, Crumbs: keysCrumb,
		Scripts: []string{view.ScriptCopy, view.ScriptForms},
	}
	return h
}

// keyPage shows a key with its limits.
type keyPage struct {
	Key         view.KeyRow
	DoorMeaning string
	Revoked     view.Moment
	Bound       string // wallet address
	Limits      []view.MeterBar
	Name, Cap   view.Field
	Services    []view.ServiceLine
	Editable    bool
}

func (p keyPage) Head() view.Head {
	return view.Head{
		Template: "key", Title: p.Key.Name, Section: view.SectionKeys, Crumbs: keysCrumb,
		Scripts: []string{view.ScriptCopy, view.ScriptForms},
	}
}

// agentRow is an agent or an adopted key.
type agentRow struct {
	Name, Address, Via string
	Since              view.Moment
	KeyID, KeyPrefix   string
	Cap                string
	Off                string
}

// agentsPage lists the agents and takes claim codes.
type agentsPage struct {
	Claim  view.Field
	Agents []agentRow
	Empty  *view.Empty
	Owner  bool // may adopt
}

func (agentsPage) Head() view.Head {
	return view.Head{
		Template: "agents", Title: "Agents", Section: view.SectionAgents,
		Scripts: []string{view.ScriptCopy, view.ScriptForms},
	}
}
