package plan_test

import (
	"fmt"
	"testing"

	"github.com/chainaccess/gateway/metering/plan"
)

func TestTaxPlace_IsWhereTwoItemsOfEvidenceAgree(t *testing.T) {
	t.Parallel()
	for e, want := range map[plan.TaxEvidence]struct {
		country  string
		standing plan.TaxStanding
	}{
		{"DE", "DE", "DE"}:  {"DE", plan.TaxAgreed},
		{"US", "DE", "DE"}:  {"DE", plan.TaxAgreed}, // whatever was declared
		{"DE", "US", "US"}:  {"US", plan.TaxAgreed},
		{"US", "US", "DE"}:  {"US", plan.TaxAgreed}, // abroad for a while
		{"US", "DE", "US"}:  {"US", plan.TaxAgreed},
		{"EL", "gr", ""}:    {"GR", plan.TaxAgreed},
		{"US", "", "US"}:    {"US", plan.TaxAgreed},
		{"US", "", ""}:      {"US", plan.TaxOneItem},
		{"", "", "DE"}:      {"DE", plan.TaxOneItem},
		{"US", "XX", "T1"}:  {"US", plan.TaxOneItem},
		{"", "", ""}:        {"", plan.TaxUnknown},
		{"", "US", ""}:      {"", plan.TaxUnknown},
		{"US", "DE", ""}:    {"DE", plan.TaxContradictory},
		{"US", "", "DE"}:    {"DE", plan.TaxContradictory},
		{"", "US", "FR"}:    {"FR", plan.TaxContradictory},
		{"US", "GB", "IT"}:  {"IT", plan.TaxContradictory},
		{"US", "GB", "CH"}:  {"US", plan.TaxContradictory},
		{"", "GB", "CH"}:    {"CH", plan.TaxContradictory},
		{"FR", "DE", "IT"}:  {"FR", plan.TaxContradictory},
		{"DEU", "GB", "CH"}: {"CH", plan.TaxContradictory},
	} {
		t.Run(fmt.Sprint(e), func(t *testing.T) {
			got := e.Place()
			if got.Country != want.country || got.Standing != want.standing {
				t.Errorf("%+v: %s, want %+v", e, got, want)
			}
			if got.Overruled() != (got.Declared != "" && got.Declared != got.Country) {
				t.Errorf("%+v: overruled %t", e, got.Overruled())
			}
		})
	}
	if got := (plan.TaxEvidence{Declared: "US", Card: "de", Network: "DE"}).Place().String(); got !=
		"DE: agreed (declared US, card DE, network DE)" {
		t.Errorf("the books have %q", got)
	}
}
