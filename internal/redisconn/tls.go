package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Certificates configure TLS: whom a connection trusts, and its own identity. The zero value trusts
// the system's roots and expects the address's host name.
type Certificates struct {
	// CAFile holds the PEM certificates to trust in place of the system's roots.
	CAFile string
	// CertFile and KeyFile are the PEM client certificate and its key; set both or neither.
	CertFile, KeyFile string
	// ServerName is the name in the servers' certificates when it is not the host that is dialled,
	// for example because a cluster announces its nodes by IP address.
	ServerName string
}

// Any reports whether anything is set.
func (c Certificates) Any() bool { return c != Certificates{} }

// load reads the files. An error names the variable and the file, but quotes no contents.
func (c Certificates) load() (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("REDIS_TLS_CA_FILE: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("REDIS_TLS_CA_FILE: %s has no certificate in PEM", c.CAFile)
		}
	}
	if c.CertFile != "" || c.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, errors.Join(
				errors.New("REDIS_TLS_CERT_FILE and REDIS_TLS_KEY_FILE: not a certificate and its key in PEM"), err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}
