package accounts_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
)

func TestAuditLog_IsReadToItsEndByPages(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann, bob := servicetest.Browser(o.SignIn(t, "ann@buyer.example")),
		servicetest.Browser(o.SignIn(t, "bob@buyer.example"))
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprintf("key %d", i))
		servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: names[i]}))
		servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, bob, keys.CreateKeyInput{Name: "another's"}))
	}
	whole := servicetest.Must[accounts.AuditLog](t)(o.ListAudit.Invoke(o.Ctx, ann, accounts.ListAuditInput{}))
	if len(whole.Lines) < len(names) || whole.NextCursor != "" {
		t.Fatalf("the log has %d lines and goes on at %q", len(whole.Lines), whole.NextCursor)
	}
	var paged []accounts.AuditLine
	in := accounts.ListAuditInput{Limit: 3}
	for range whole.Lines {
		page := servicetest.Must[accounts.AuditLog](t)(o.ListAudit.Invoke(o.Ctx, ann, in))
		paged = append(paged, page.Lines...)
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			break
		}
	}
	same := func(a, b accounts.AuditLine) bool {
		return a.At.Equal(b.At) && a.Action == b.Action && a.KeyID == b.KeyID && string(a.After) == string(b.After)
	}
	if in.Cursor != "" || !slices.EqualFunc(paged, whole.Lines, same) {
		t.Errorf("by pages it is %+v, at once %+v", paged, whole.Lines)
	}
}
