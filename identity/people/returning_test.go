package people_test

import (
	"encoding/hex"
	"testing"
)

// TestReturnPath_IsNotReadableInTheRecord matters for claim links: a person who reads the
// database could take over the key.
func TestReturnPath_IsNotReadableInTheRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const code = "cagc_ofTheTest"
	const path = "/agents?claim_code=" + code
	if _, err := b.people.StartSignIn(b.ctx, "bob@buyer.example", path, home); err != nil {
		t.Fatal(err)
	}
	if n := b.number(t, "SELECT count(*) FROM sign_ins WHERE octet_length(return_to) > 0"); n != 1 {
		t.Fatalf("%d sign-ins have a path, want 1", n)
	}
	const query = "SELECT count(*) FROM sign_ins WHERE strpos(sign_ins::text, $1) > 0 OR strpos(sign_ins::text, $2) > 0"
	if n := b.number(t, query, code, hex.EncodeToString([]byte(code))); n != 0 {
		t.Error("the record holds the claim code in the clear")
	}
	entered, err := b.people.FinishByLink(b.ctx, b.newest(t, "bob@buyer.example").link, home)
	if err != nil || entered.ReturnTo != path {
		t.Errorf("bob comes back to %q, %v; want %q", entered.ReturnTo, err, path)
	}
}

func TestReturnPath_OfAnotherSignInLeadsNowhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var links []string
	for _, path := range []string{"/keys", "/settings"} {
		if _, err := b.people.StartSignIn(b.ctx, "bob@buyer.example", path, home); err != nil {
			t.Fatal(err)
		}
		links = append(links, b.newest(t, "bob@buyer.example").link)
	}
	// The older one's path is put into the newer one's row.
	b.number(t, `WITH moved AS (UPDATE sign_ins SET return_to = (SELECT return_to FROM sign_ins ORDER BY id LIMIT 1) `+
		`RETURNING 1) SELECT count(*) FROM moved`)
	for i, want := range []string{"/keys", ""} {
		if entered, err := b.people.FinishByLink(b.ctx, links[i], home); err != nil || entered.ReturnTo != want {
			t.Errorf("sign-in %d comes back to %q, %v; want %q", i, entered.ReturnTo, err, want)
		}
	}
}
