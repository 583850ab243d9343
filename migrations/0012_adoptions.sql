-- +goose Up
-- Which key went to which owner. A key is adopted once, for ever; its code is gone from the key then, and kept here as a digest, so that the
-- owner who sends it again is told the same.
CREATE TABLE adoptions (
    key_id       uuid PRIMARY KEY,
    claim_digest bytea NOT NULL,
    from_account uuid NOT NULL,
    account_id   uuid NOT NULL,
    user_id      uuid NOT NULL,
    adopted_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT adoptions_key_exists FOREIGN KEY (key_id) REFERENCES keys (id),
    CONSTRAINT adoptions_from_exists FOREIGN KEY (from_account) REFERENCES accounts (id),
    CONSTRAINT adoptions_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT adoptions_claim_digest_unique UNIQUE (claim_digest),
    CONSTRAINT adoptions_claim_digest_sha256 CHECK (octet_length(claim_digest) = 32),
    CONSTRAINT adoptions_moves CHECK (from_account <> account_id)
);
COMMENT ON COLUMN adoptions.user_id IS 'who signed in and gave the code';

-- +goose Down
DROP TABLE adoptions;
