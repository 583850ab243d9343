package wallet_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
)

// object is a message of the data files, with the field names of EIP-4361.
type object struct {
	Scheme         string   `json:"scheme"`
	Domain         string   `json:"domain"`
	Address        string   `json:"address"`
	Statement      *string  `json:"statement"`
	URI            string   `json:"uri"`
	ChainID        uint64   `json:"chainId"`
	Nonce          string   `json:"nonce"`
	IssuedAt       string   `json:"issuedAt"`
	ExpirationTime string   `json:"expirationTime"`
	NotBefore      string   `json:"notBefore"`
	RequestID      *string  `json:"requestId"`
	Resources      []string `json:"resources"`
}

// message builds the message; false when an address or a time is not valid.
func (o *object) message() (*wallet.Message, bool) {
	address, err := wallet.ParseAddress(o.Address)
	m := &wallet.Message{
		Scheme: o.Scheme, Domain: o.Domain, Address: address, Statement: o.Statement, URI: o.URI, ChainID: o.ChainID,
		Nonce: o.Nonce, RequestID: o.RequestID, Resources: o.Resources,
	}
	for to, from := range map[*wallet.Timestamp]string{
		&m.IssuedAt: o.IssuedAt, &m.ExpirationTime: o.ExpirationTime, &m.NotBefore: o.NotBefore,
	} {
		err = errors.Join(err, to.UnmarshalText([]byte(from)))
	}
	return m, err == nil
}

// cases reads a data file.
func cases[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return all
}

func TestMessage_RendersToTheBytesThatWereParsed(t *testing.T) {
	t.Parallel()
	for _, c := range cases[struct {
		Name    string
		Message string
		Fields  object
	}](t, "messages_accepted.json") {
		want, ok := c.Fields.message()
		if !ok {
			t.Fatalf("%s: the fields are no message", c.Name)
		}
		got, err := wallet.Parse(c.Message)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.Name, got, want)
		}
		if got.String() != c.Message || want.String() != c.Message {
			t.Errorf("%s: renders to\n%s\nwant\n%s", c.Name, want, c.Message)
		}
		if err := want.Validate(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		again := &wallet.Message{}
		if err := json.Unmarshal(text, again); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: comes out of JSON as %+v, %v", c.Name, again, err)
		}
	}
}

func TestMessage_OutsideTheGrammarIsRefusedByLine(t *testing.T) {
	t.Parallel()
	for _, c := range cases[struct {
		Name    string
		Message string
		Says    string
	}](t, "messages_refused.json") {
		m, err := wallet.Parse(c.Message)
		if !errors.Is(err, wallet.ErrMessage) || m != nil {
			t.Errorf("%s: got %+v, %v", c.Name, m, err)
			continue
		}
		if c.Says == "" || !strings.Contains(err.Error(), c.Says) {
			t.Errorf("%s: says %q, want %q in it", c.Name, err, c.Says)
		}
	}
}

func TestMessage_InvalidObjectsDoNotValidate(t *testing.T) {
	t.Parallel()
	for _, c := range cases[struct {
		Name   string
		Fields object
	}](t, "objects_refused.json") {
		m, ok := c.Fields.message()
		if !ok {
			continue // refused before the message was built
		}
		if err := m.Validate(); !errors.Is(err, wallet.ErrMessage) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

func TestMessage_OfTheServiceIsThatOfTheStandard(t *testing.T) {
	t.Parallel()
	address, err := wallet.ParseAddress("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 899_999_999, time.FixedZone("", 3600))
	m := wallet.Message{
		Domain: "gateway.example", Address: address, Statement: new("Bind this key."),
		URI: "https://gateway.example/keys/bind", ChainID: 1, Nonce: "0123456789abcdef",
		IssuedAt: wallet.TimestampOf(at), ExpirationTime: wallet.TimestampOf(at.Add(10 * time.Minute)),
	}
	const want = "gateway.example wants you to sign in with your Ethereum account:\n" +
		"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\n\nBind this key.\n\nURI: " +
		"https://gateway.example/keys/bind\nVersion: 1\nChain ID: 1\nNonce: 0123456789abcdef\nIssued At: " +
		"2026-03-04T04:06:07.899Z\nExpiration Time: 2026-03-04T04:16:07.899Z"
	if err := m.Validate(); err != nil || m.String() != want {
		t.Errorf("%v: %s", err, &m)
	}
}

func TestMessage_IsBounded(t *testing.T) {
	t.Parallel()
	m := wallet.Message{
		Domain: "a.example", Statement: new(""), URI: "https://a.example", Nonce: "01234567",
		IssuedAt: wallet.TimestampOf(time.Unix(0, 0)),
	}
	*m.Statement = strings.Repeat("a", 16<<10-len(m.String()))
	if err := m.Validate(); err != nil {
		t.Errorf("16 KiB: %v", err)
	}
	*m.Statement += "a"
	if _, err := wallet.Parse(m.String()); !errors.Is(err, wallet.ErrMessage) ||
		!strings.Contains(err.Error(), "16384") {
		t.Errorf("a byte more: %v", err)
	}
}

func TestNonces_AreOfTheGrammarAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		m := wallet.Message{
			Domain: "a.example", URI: "https://a.example", Nonce: wallet.NewNonce(),
			IssuedAt: wallet.TimestampOf(time.Unix(0, 0)),
		}
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		seen[m.Nonce] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d nonces of 1000", len(seen))
	}
}
