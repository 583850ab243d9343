package keys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/keys"
)

// manyKeys returns n keys, the newest last; every tenth is revoked.
func manyKeys(n int) []keys.KeyView {
	var all []keys.KeyView
	for i := range n {
		k := keys.KeyView{
			ID: fmt.Sprintf("019a9f2e-1111-7000-8000-%012d", i), Name: fmt.Sprintf("bot %03d", i),
			Prefix: fmt.Sprintf("cag_%08d", i), Door: account.DoorAccount, Status: account.Active,
		}
		if i%10 == 0 {
			k.Status = account.Revoked
		}
		all = append(all, k)
	}
	return all
}

func TestKeys_AreListedByPagesAndSearched(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Keys = manyKeys(200) // 180 are active
	b := consoletest.SignedIn(t, h, Register)
	rows := func(path string) (first string, n int) {
		body := b.Get(path).Body
		for _, row := range consoletest.Elements(consoletest.Parse(t, body), "tr") {
			if class, _ := consoletest.Attribute(row, "class"); class == "linked" {
				if n++; n == 1 {
					first = consoletest.Text(consoletest.Elements(row, "a")[0])
				}
			}
		}
		return first, n
	}
	for path, want := range map[string]string{
		"/keys": "bot 199 50", "/keys?page=4": "bot 033 30", "/keys?page=99": "bot 033 30",
		"/keys?page=-1": "bot 199 50", "/keys?page=x": "bot 199 50", "/keys?status=revoked": "bot 190 20",
		"/keys?find=BOT+12": "bot 129 9", "/keys?find=cag_00000125…": "bot 125 1", "/keys?find=nothing": " 0",
	} {
		t.Run(path, func(t *testing.T) {
			if first, n := rows(path); fmt.Sprintf("%s %d", first, n) != want {
				t.Errorf("%s shows %d keys from %q on, want %q", path, n, first, want)
			}
		})
	}
	got := b.Get("/keys?find=bot&page=2").Body
	in := expect.In(t, "the second page leads nowhere")
	expect.Contains(in, got, `href="/keys?find=bot"`)
	expect.Contains(in, got, `href="/keys?find=bot&amp;page=3"`)
	expect.Contains(in, got, "Page 2 of 4")
	if got := b.Get("/keys?find=" + "%22%3E%3Cscript%3E").Body; strings.Contains(got, `"><script>`) ||
		!strings.Contains(got, "No key matches") {
		t.Error("what is searched becomes markup")
	}
}
