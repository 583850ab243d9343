package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificates are PEM files: a certificate authority, and a certificate that it signed for servers
// and clients called Name, with its key.
type Certificates struct {
	CAFile, CertFile, KeyFile string
	Name                      string
}

// NewCertificates creates a certificate authority and a certificate. The certificate has no IP
// address, so clients must verify the name.
func NewCertificates(t testing.TB, name string) Certificates {
	t.Helper()
	dir := t.TempDir()
	c := Certificates{
		CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"),
		KeyFile: filepath.Join(dir, "key.pem"), Name: name,
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		},
	}
	authorityKey, leafKey := newKey(t), newKey(t)
	sign := func(of *x509.Certificate, key *ecdsa.PrivateKey, file string) {
		der, err := x509.CreateCertificate(rand.Reader, of, authority, &key.PublicKey, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		writePEM(t, file, "CERTIFICATE", der)
	}
	sign(authority, authorityKey, c.CAFile)
	sign(leaf, leafKey, c.CertFile)
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, c.KeyFile, "PRIVATE KEY", der)
	return c
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// WithTLS makes the server also accept TLS connections, from clients with a certificate of the same
// authority.
func WithTLS(c Certificates) RedisOption {
	return func(r *RedisServer) {
		r.tlsPort = -1
		r.args = append(r.args, "--tls-cert-file", c.CertFile, "--tls-key-file", c.KeyFile, "--tls-ca-cert-file",
			c.CAFile, "--tls-auth-clients", "yes")
	}
}
