package outbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/store/maildb"
)

// seal encrypts what the database keeps of a mail: version, nonce, AES-256-GCM. The mail's id, its
// kind and the name of the part are additional data, so that no ciphertext can be moved to another
// row or column.
type seal struct {
	aead  cipher.AEAD
	index []byte      // key of the digests of addresses
	links []byte      // key of unsubscribe links
	held  cipher.AEAD // of links with encrypted content
}

const sealVersion = 1

// Parts of a mail that are encrypted.
const (
	partRecipient = "recipient"
	partPayload   = "payload"
)

// errUnsealable reports a ciphertext of another secret, or a changed one.
var errUnsealable = errors.New("outbox: sealed under another secret, or changed since")

func newSeal(secret []byte) (*seal, error) {
	derive := func(use string) ([]byte, error) {
		key, err := hkdf.Key(sha256.New, secret, nil, "chain access gateway: "+use, sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("derive the key of %s: %w", use, err)
		}
		return key, nil
	}
	seals := func(use string) (cipher.AEAD, error) {
		key, err := derive(use)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("seal %s: %w", use, err)
		}
		return cipher.NewGCMWithRandomNonce(block)
	}
	aead, err := seals("mails that wait")
	if err != nil {
		return nil, err
	}
	held, err := seals("links of mails")
	if err != nil {
		return nil, err
	}
	index, err := derive("recipients of mails")
	if err != nil {
		return nil, err
	}
	links, err := derive("links that stop mails")
	if err != nil {
		return nil, err
	}
	return &seal{aead: aead, index: index, links: links, held: held}, nil
}

func binding(id maildb.MailID, kind, part string) []byte {
	return []byte(id.String() + "/" + kind + "/" + part)
}

func (s *seal) close(id maildb.MailID, kind, part string, value []byte) []byte {
	//nolint:gosec // this AEAD generates its nonces
	return s.aead.Seal([]byte{sealVersion}, nil, value, binding(id, kind, part))
}

func (s *seal) open(id maildb.MailID, kind, part string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || sealed[0] != sealVersion {
		return nil, errUnsealable
	}
	value, err := s.aead.Open(nil, nil, sealed[1:], binding(id, kind, part))
	if err != nil {
		return nil, errUnsealable
	}
	return value, nil
}

// digest identifies an address without revealing it. It ignores case.
func (s *seal) digest(address string) []byte {
	mac := hmac.New(sha256.New, s.index)
	mac.Write([]byte(strings.ToLower(address)))
	return mac.Sum(nil)
}

// document is the encrypted payload of a mail.
type document struct {
	Zone        string `json:"zone,omitempty"`
	Unsubscribe string `json:"unsubscribe,omitempty"`
	Mail        []byte `json:"mail"`
}

func encode(l Mail, of notify.Copy) ([]byte, error) { //nolint:gocritic // a copy does no harm
	said, err := notify.Encode(l.Mail)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(document{Zone: of.Zone, Unsubscribe: of.Unsubscribe, Mail: said})
	if err != nil {
		return nil, fmt.Errorf("encode a letter: %w", err)
	}
	return text, nil
}

func decode(kind string, text []byte) (notify.Mail, notify.Copy, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, notify.Copy{}, fmt.Errorf("decode a letter: %w", err)
	}
	m, err := notify.Decode(notify.Kind(kind), d.Mail)
	return m, notify.Copy{Zone: d.Zone, Unsubscribe: d.Unsubscribe}, err
}
