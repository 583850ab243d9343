-- +goose Up
-- People who sign in: users, the accounts they belong to, their sessions, the mails by which they sign in, and invitations.
CREATE TABLE users (
    id                uuid PRIMARY KEY,
    email             text NOT NULL,
    email_key         text NOT NULL,
    created_at        timestamptz NOT NULL,
    last_signed_in_at timestamptz,
    CONSTRAINT users_email_unique UNIQUE (email_key),
    CONSTRAINT users_email_bounded CHECK (octet_length(email) BETWEEN 3 AND 254 AND octet_length(email_key) BETWEEN 3 AND 254)
);
COMMENT ON COLUMN users.email IS 'the address as it was typed first; mails go there';
COMMENT ON COLUMN users.email_key IS 'the address by which the user is found: ASCII letters in lower case, the domain as DNS has it';

CREATE TABLE members (
    account_id   uuid NOT NULL,
    user_id      uuid NOT NULL,
    role         text NOT NULL,
    joined_at    timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    CONSTRAINT members_pkey PRIMARY KEY (account_id, user_id),
    CONSTRAINT members_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT members_user_exists FOREIGN KEY (user_id) REFERENCES users (id),
    CONSTRAINT members_role_known CHECK (role IN ('owner', 'member'))
);
COMMENT ON COLUMN members.last_used_at IS 'when the user began a session of this account, or switched to it; a sign-in begins with the newest';
CREATE INDEX members_by_user ON members (user_id, last_used_at DESC);

CREATE TABLE sessions (
    digest       bytea PRIMARY KEY,
    id           uuid NOT NULL,
    user_id      uuid NOT NULL,
    account_id   uuid NOT NULL,
    network      text NOT NULL,
    user_agent   text NOT NULL,
    created_at   timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    CONSTRAINT sessions_id_unique UNIQUE (id),
    CONSTRAINT sessions_user_exists FOREIGN KEY (user_id) REFERENCES users (id),
    CONSTRAINT sessions_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT sessions_digest_sha256 CHECK (octet_length(digest) = 32),
    CONSTRAINT sessions_network_short CHECK (octet_length(network) <= 64),
    CONSTRAINT sessions_user_agent_short CHECK (char_length(user_agent) <= 200)
);
COMMENT ON COLUMN sessions.digest IS 'HMAC-SHA-256 of what the cookie holds';
COMMENT ON COLUMN sessions.id IS 'names the session in lists; no secret, opens nothing';
COMMENT ON COLUMN sessions.network IS 'first 24 or 64 bits of the address that signed in; for showing only';
COMMENT ON COLUMN sessions.last_seen_at IS 'written at most once a minute';
CREATE INDEX sessions_by_user ON sessions (user_id, last_seen_at DESC) WHERE ended_at IS NULL;
CREATE INDEX sessions_past ON sessions (expires_at);

CREATE TABLE sign_ins (
    id             uuid PRIMARY KEY,
    email          text NOT NULL,
    email_key      text NOT NULL,
    link_digest    bytea NOT NULL,
    code_digest    bytea NOT NULL,
    browser_digest bytea NOT NULL,
    return_to      text NOT NULL,
    network        text NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    used_at        timestamptz,
    wrong_codes    integer NOT NULL DEFAULT 0,
    CONSTRAINT sign_ins_link_unique UNIQUE (link_digest),
    CONSTRAINT sign_ins_browser_unique UNIQUE (browser_digest),
    CONSTRAINT sign_ins_email_bounded CHECK (octet_length(email) BETWEEN 3 AND 254 AND octet_length(email_key) BETWEEN 3 AND 254),
    CONSTRAINT sign_ins_digests_sha256
        CHECK (octet_length(link_digest) = 32 AND octet_length(code_digest) = 32 AND octet_length(browser_digest) = 32),
    CONSTRAINT sign_ins_return_to_local CHECK (return_to = '' OR (return_to LIKE '/%' AND return_to NOT LIKE '//%' AND octet_length(return_to) <= 1024)),
    CONSTRAINT sign_ins_network_short CHECK (octet_length(network) <= 64),
    CONSTRAINT sign_ins_wrong_codes_bounded CHECK (wrong_codes BETWEEN 0 AND 5)
);
COMMENT ON COLUMN sign_ins.browser_digest IS 'digest of a secret in the cookie of the browser that asked; only there the code works';
COMMENT ON COLUMN sign_ins.return_to IS 'local path to come back to; emptied when the sign-in is used';
COMMENT ON COLUMN sign_ins.wrong_codes IS 'codes typed in vain; the fifth ends the sign-in';
CREATE INDEX sign_ins_past ON sign_ins (expires_at);

CREATE TABLE invitations (
    id          uuid PRIMARY KEY,
    account_id  uuid NOT NULL,
    email       text NOT NULL,
    email_key   text NOT NULL,
    role        text NOT NULL,
    invited_by  uuid NOT NULL,
    link_digest bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    accepted_at timestamptz,
    revoked_at  timestamptz,
    CONSTRAINT invitations_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT invitations_inviter_exists FOREIGN KEY (invited_by) REFERENCES users (id),
    CONSTRAINT invitations_link_unique UNIQUE (link_digest),
    CONSTRAINT invitations_link_sha256 CHECK (octet_length(link_digest) = 32),
    CONSTRAINT invitations_email_bounded CHECK (octet_length(email) BETWEEN 3 AND 254 AND octet_length(email_key) BETWEEN 3 AND 254),
    CONSTRAINT invitations_role_known CHECK (role IN ('owner', 'member')),
    CONSTRAINT invitations_end_once CHECK (accepted_at IS NULL OR revoked_at IS NULL)
);
COMMENT ON COLUMN invitations.revoked_at IS 'taken back, or replaced by a newer one to the same address';
CREATE UNIQUE INDEX invitations_open ON invitations (account_id, email_key) WHERE accepted_at IS NULL AND revoked_at IS NULL;
CREATE INDEX invitations_past ON invitations (expires_at);

-- Why an account is suspended is shown to whoever signs in.
CREATE INDEX audit_log_suspensions ON audit_log (account_id, id) WHERE action = 'suspend_account';

-- +goose Down
DROP INDEX audit_log_suspensions;
DROP TABLE invitations;
DROP TABLE sign_ins;
DROP TABLE sessions;
DROP TABLE members;
DROP TABLE users;
