package upstream

import (
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// blame is what an answer counts as in the upstream's health.
type blame uint8

const (
	blameNobody blame = iota
	blameThrottle
	blameFailure
)

// verdict answers three questions: whether to try another upstream, whether to blame this one, and
// (passOn) whether the client may see its error if no other upstream does better.
type verdict struct {
	meaning rules.Meaning
	another bool
	blame   blame
	passOn  bool
}

var verdicts = [...]verdict{
	rules.Answer:      {rules.Answer, false, blameNobody, true},
	rules.Range:       {rules.Range, true, blameNobody, false},
	rules.Plan:        {rules.Plan, true, blameNobody, false},
	rules.Billing:     {rules.Billing, true, blameFailure, false},
	rules.Throttled:   {rules.Throttled, true, blameThrottle, false},
	rules.MissingData: {rules.MissingData, true, blameNobody, true},
	rules.ExecTimeout: {rules.ExecTimeout, true, blameNobody, true},
	rules.Absent:      {rules.Absent, true, blameNobody, false},
	rules.Unsupported: {rules.Unsupported, true, blameNobody, true},
	rules.Denied:      {rules.Denied, true, blameFailure, false},
	rules.NodeFailure: {rules.NodeFailure, true, blameNobody, false},
	rules.Unknown:     {rules.Unknown, true, blameNobody, true},
	rules.NullID:      {rules.NullID, true, blameNobody, false},
	rules.Broken:      {rules.Broken, true, blameFailure, false},
	rules.Unreachable: {rules.Unreachable, true, blameFailure, false},
}

// tooLarge is the verdict on an answer that announces a length above our own limit, of which
// nothing was read. Another upstream is asked, because the length may be wrong.
var tooLarge = verdicts[rules.Range]

// judge returns the verdict on an answer that is no result. object is the error of its body, if
// that has one. byStatus is set when the HTTP status decided.
func (e *Endpoint) judge(status int, object, asked []byte) (v verdict, byStatus bool) {
	found := e.errors.Load().Judge(&rules.Error{
		Family: e.family, Status: status, Method: transport.MethodOf(asked), Asked: asked, Object: object,
	})
	return verdicts[found.Meaning], found.ByStatus
}

// refuses reports whether an HTTP status alone makes an answer no result.
func (e *Endpoint) refuses(status int) (verdict, bool) {
	meaning, refused := e.errors.Load().Refuses(e.family, status)
	return verdicts[meaning], refused
}
