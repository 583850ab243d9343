package wallet

import (
	"crypto/rand"
	"reflect"
	"strconv"
	"strings"
)

// Message is a sign-in message of EIP-4361, version 1. Parse returns only valid ones; Validate
// checks one that was built by hand.
type Message struct {
	Scheme         string // the origin's; empty for none
	Domain         string // RFC 3986 authority that asks for the signature
	Address        Address
	Statement      *string // nil for none; an empty one is a line of its own
	URI            string
	ChainID        uint64
	Nonce          string
	IssuedAt       Timestamp
	ExpirationTime Timestamp // zero for none
	NotBefore      Timestamp // zero for none
	RequestID      *string   // nil for none
	Resources      []string  // nil for none; an empty list renders its heading
}

// Version is the only version of EIP-4361.
const Version = "1"

const (
	asks       = " wants you to sign in with your Ethereum account:"
	resources  = "Resources:"
	bullet     = "- "
	minNonce   = 8
	maxNonce   = 256
	maxMessage = 16 << 10 // maximum length in bytes
)

// NewNonce returns a nonce of at least 128 random bits.
func NewNonce() string { return rand.Text() }

// String returns the text that the wallet signs.
func (m *Message) String() string {
	var b strings.Builder
	if m.Scheme != "" {
		b.WriteString(m.Scheme + "://")
	}
	b.WriteString(m.Domain + asks + "\n" + m.Address.Checksummed() + "\n\n")
	if m.Statement != nil {
		b.WriteString(*m.Statement + "\n")
	}
	line := func(name, value string) { b.WriteString("\n" + name + value) }
	line("URI: ", m.URI)
	line("Version: ", Version)
	line("Chain ID: ", strconv.FormatUint(m.ChainID, 10))
	line("Nonce: ", m.Nonce)
	line("Issued At: ", m.IssuedAt.text)
	if !m.ExpirationTime.IsZero() {
		line("Expiration Time: ", m.ExpirationTime.text)
	}
	if !m.NotBefore.IsZero() {
		line("Not Before: ", m.NotBefore.text)
	}
	if m.RequestID != nil {
		line("Request ID: ", *m.RequestID)
	}
	if m.Resources != nil {
		line(resources, "")
		for _, r := range m.Resources {
			line(bullet, r)
		}
	}
	return b.String()
}

// Validate checks that the message's text is an EIP-4361 message that parses to the same message.
func (m *Message) Validate() error {
	again, err := Parse(m.String())
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(m, again) {
		return ErrMessage.about("A field of the message holds what belongs into another.")
	}
	return nil
}
