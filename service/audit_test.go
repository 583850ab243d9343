package service_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chainaccess/gateway/service"
)

func TestAuditLog_IsReadToItsEndByPages(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann, bob := browser(o.signIn(t, "ann@buyer.example")), browser(o.signIn(t, "bob@buyer.example"))
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprintf("key %d", i))
		must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: names[i]}))
		must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, bob, service.CreateKeyInput{Name: "another's"}))
	}
	whole := must[service.AuditLog](t)(o.ListAudit.Invoke(o.ctx, ann, service.ListAuditInput{}))
	if len(whole.Lines) < len(names) || whole.NextCursor != "" {
		t.Fatalf("the log has %d lines and goes on at %q", len(whole.Lines), whole.NextCursor)
	}
	var paged []service.AuditLine
	in := service.ListAuditInput{Limit: 3}
	for range whole.Lines {
		page := must[service.AuditLog](t)(o.ListAudit.Invoke(o.ctx, ann, in))
		paged = append(paged, page.Lines...)
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			break
		}
	}
	same := func(a, b service.AuditLine) bool {
		return a.At.Equal(b.At) && a.Action == b.Action && a.KeyID == b.KeyID && string(a.After) == string(b.After)
	}
	if in.Cursor != "" || !slices.EqualFunc(paged, whole.Lines, same) {
		t.Errorf("by pages it is %+v, at once %+v", paged, whole.Lines)
	}
}
