package signin

import "github.com/chainaccess/gateway/api/console/view"

// signInPage asks for an e-mail address.
type signInPage struct {
	Email view.Field
	Next  string // path to return to
	Then  string // description of that path; may be empty
}

func (signInPage) Head() view.Head {
	return view.Head{Template: "signin", Title: "Sign in", Bare: true, Scripts: []string{view.ScriptForms}}
}

// codePage asks for the code in the mail. It is the same for known and unknown addresses.
type codePage struct {
	Email   string
	Code    view.Field
	Minutes int // how long code and link are valid
	DevMail string
}

func (codePage) Head() view.Head {
	return view.Head{Template: "code", Title: "Check your mail", Bare: true, Scripts: []string{view.ScriptForms}}
}
