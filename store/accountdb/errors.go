package accountdb

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrKeyExists reports that the id or the digest of a new key is taken.
	ErrKeyExists = errors.New("store: key exists already")
	// ErrAccountExists reports that the id of a new account is taken.
	ErrAccountExists = errors.New("store: account exists already")
	// ErrAccountMissing reports that the account of a new key does not exist.
	ErrAccountMissing = errors.New("store: account does not exist; create it first")
	// ErrRevoked reports an attempt to change a revoked key.
	ErrRevoked = errors.New("store: the key is revoked")
)

// conflict converts a violated constraint to its sentinel error; other errors are unchanged.
func conflict(err error) error {
	violation, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch violation.ConstraintName {
	case "keys_digest_unique", "keys_pkey":
		return ErrKeyExists
	case "accounts_pkey":
		return ErrAccountExists
	case "keys_account_exists":
		return ErrAccountMissing
	}
	return err
}
