package billing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

const whsec = "whsec_canary"

// sign returns a payload's signature header, as Stripe makes it at a time.
func sign(payload, secret string, at time.Time) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: []byte(payload), Secret: secret, Timestamp: at,
	}).Header
}

const paidEvent = `{"id":"evt_1","object":"event","type":"invoice.paid","api_version":"2023-10-16",` +
	`"created":1795348800,` +
	`"data":{"object":{"id":"in_1","object":"invoice","customer":"cus_1","payment_intent":"pi_1"}}}`

func TestEvent_IsTakenOnlyWithARecentSignatureOfStripe(t *testing.T) {
	t.Parallel()
	good := sign(paidEvent, whsec, noon)
	for name, c := range map[string]struct {
		payload, header, secret string
		at                      time.Time
		want                    error
	}{
		"signed":                     {paidEvent, good, whsec, noon, nil},
		"five minutes later":         {paidEvent, good, whsec, noon.Add(5 * time.Minute), nil},
		"a clock that is behind":     {paidEvent, good, whsec, noon.Add(-5 * time.Minute), nil},
		"while a secret is replaced": {paidEvent, good + ",v1=" + strings.Repeat("0", 64), whsec, noon, nil},
		"with parts of the future":   {paidEvent, good + ",v2=x,v0=zz", whsec, noon, nil},
		"old":                        {paidEvent, good, whsec, noon.Add(5*time.Minute + time.Second), billing.ErrStale},
		"from the future": {
			paidEvent, good, whsec, noon.Add(-5*time.Minute - time.Second), billing.ErrStale,
		},
		"old and not signed": {
			paidEvent, sign(paidEvent, "whsec_other", noon), whsec, noon.Add(time.Hour), billing.ErrSignature,
		},
		"another secret": {
			paidEvent, sign(paidEvent, "whsec_other", noon), whsec, noon, billing.ErrSignature,
		},
		"no secret":    {paidEvent, sign(paidEvent, "", noon), "", noon, billing.ErrSignature},
		"another body": {paidEvent + " ", good, whsec, noon, billing.ErrSignature},
		"no header":    {paidEvent, "", whsec, noon, billing.ErrSignature},
		"no time":      {paidEvent, strings.SplitN(good, ",", 2)[1], whsec, noon, billing.ErrSignature},
		"two times":    {paidEvent, good + ",t=1795348800", whsec, noon, billing.ErrSignature},
		"no signature": {paidEvent, strings.SplitN(good, ",", 2)[0], whsec, noon, billing.ErrSignature},
		"nonsense":     {paidEvent, "canary", whsec, noon, billing.ErrSignature},
		"another scheme": {
			paidEvent, strings.Replace(good, "v1=", "v0=", 1), whsec, noon, billing.ErrSignature,
		},
		"no JSON": {"canary", sign("canary", whsec, noon), whsec, noon, billing.ErrNoEvent},
		"no id": {
			`{"type":"x"}`, sign(`{"type":"x"}`, whsec, noon), whsec, noon, billing.ErrNoEvent,
		},
		"a line in an id": {
			`{"id":"evt\n1","type":"x"}`, sign(`{"id":"evt\n1","type":"x"}`, whsec, noon),
			whsec, noon, billing.ErrNoEvent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			event, err := billing.ReadEvent([]byte(c.payload), c.header, c.secret, c.at)
			if !errors.Is(err, c.want) || (err == nil) != (event.ID == "evt_1") {
				t.Errorf("%+v, %v", event, err)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error quotes what came: %v", err)
			}
		})
	}
}

func TestEvent_NamesItsCustomerInEveryVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version, object string
		want            billing.Event
	}{
		"an invoice": {
			"2023-10-16", `{"id":"in_1","object":"invoice","customer":"cus_1","payment_intent":"pi_1"}`,
			billing.Event{Object: "in_1", Customer: "cus_1", Payment: "pi_1"},
		},
		"expanded": {
			"2019-01-01", `{"id":"in_1","object":"invoice","customer":{"id":"cus_1","email":"a@b.example"}}`,
			billing.Event{Object: "in_1", Customer: "cus_1"},
		},
		"a customer": {
			"2023-10-16", `{"id":"cus_1","object":"customer"}`, billing.Event{Object: "cus_1", Customer: "cus_1"},
		},
		"a checkout": {
			"2023-10-16", `{"id":"cs_1","object":"checkout.session","customer":null}`,
			billing.Event{Object: "cs_1", Session: "cs_1"},
		},
		"a dispute": {
			"2023-10-16", `{"id":"dp_1","object":"dispute","payment_intent":"pi_1"}`,
			billing.Event{Object: "dp_1", Payment: "pi_1"},
		},
		"a payment": {
			"2023-10-16", `{"id":"pi_1","object":"payment_intent","customer":"cus_1"}`,
			billing.Event{Object: "pi_1", Customer: "cus_1", Payment: "pi_1"},
		},
		"of a version to come": {
			"2031-01-01", `{"id":"in_1","object":"invoice","customer":["x"],"payment_intent":7}`,
			billing.Event{Object: "in_1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			payload := `{"id":"evt_1","type":"x.y","api_version":"` + c.version +
				`","created":1795348800,"data":{"object":` + c.object + `}}`
			got, err := billing.ReadEvent([]byte(payload), sign(payload, whsec, noon), whsec, noon)
			c.want.ID, c.want.Type, c.want.APIVersion, c.want.Created = "evt_1", "x.y", c.version, time.Unix(1795348800,
				0).UTC()
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.Equal(in, got, c.want)
			expect.Equal(in, got.Pinned(), c.version == billing.APIVersion)
		})
	}
}

// No signed payload makes ReadEvent panic, and all fields of an event are printable.
func FuzzReadEvent(f *testing.F) {
	f.Add(paidEvent, "")
	f.Add(`{"id":"a","type":"b","data":{"object":null}}`, "t=1,v1=00")
	f.Add(`[]`, "t=9223372036854775807,v1=")
	f.Add(`{"id":"a","type":"b","data":{"object":{"customer":{"id":{}}}}}`, ",,=")
	f.Fuzz(func(t *testing.T, payload, header string) {
		_, _ = billing.ReadEvent([]byte(payload), header, whsec, noon)
		event, err := billing.ReadEvent([]byte(payload), sign(payload, whsec, noon), whsec, noon)
		if err != nil {
			return
		}
		text, err := json.Marshal(event)
		in := expect.In(t, "%q", payload)
		require.NoError(in, err)
		expect.False(in, bytes.ContainsAny(text, "\n\x00"), text)
		expect.AtMost(in, len(event.ID), 255, event.ID)
	})
}
