-- +goose Up
-- The outbox: a mail is a row, written with the fact it tells, and sent by any worker. Recipient and payload are sealed by the program,
-- because they hold addresses and links that sign people in, and wiped once the mail is sent or given up.
CREATE TABLE mails (
    id               uuid PRIMARY KEY,
    reason           text COLLATE "C" NOT NULL,
    kind             text COLLATE "C" NOT NULL,
    account_id       uuid,
    recipient_digest bytea NOT NULL,
    recipient        bytea,
    payload          bytea,
    created_at       timestamptz NOT NULL DEFAULT now(),
    expires_at       timestamptz NOT NULL,
    due_at           timestamptz NOT NULL DEFAULT now(),
    attempts         integer NOT NULL DEFAULT 0,
    sent_at          timestamptz,
    failed_at        timestamptz,
    last_error       text COLLATE "C",
    CONSTRAINT mails_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT mails_reason_once UNIQUE (reason),
    CONSTRAINT mails_reason_bounded CHECK (length(reason) BETWEEN 1 AND 200),
    CONSTRAINT mails_kind_named CHECK (kind <> ''),
    CONSTRAINT mails_digest_sha256 CHECK (octet_length(recipient_digest) = 32),
    CONSTRAINT mails_attempts_counted CHECK (attempts >= 0),
    CONSTRAINT mails_one_end CHECK (sent_at IS NULL OR failed_at IS NULL),
    CONSTRAINT mails_wiped CHECK (((sent_at IS NULL AND failed_at IS NULL) = (recipient IS NOT NULL)) AND ((recipient IS NULL) = (payload IS NULL)))
) WITH (fillfactor = 70);
COMMENT ON COLUMN mails.reason IS 'why the mail is sent, a key of the business such as adopted/<key>/<user>; no address; one mail for each, for ever';
COMMENT ON COLUMN mails.recipient_digest IS 'HMAC-SHA-256 of the address, by which mails to one recipient are counted';
COMMENT ON COLUMN mails.due_at IS 'the next attempt; a claim moves it behind the end of its lease';
COMMENT ON COLUMN mails.last_error IS 'class of the last failure, a word of the program';
CREATE INDEX mails_open ON mails (expires_at) WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX mails_by_recipient ON mails (recipient_digest, kind, created_at);
CREATE INDEX mails_by_age ON mails (created_at);

-- +goose Down
DROP TABLE mails;
