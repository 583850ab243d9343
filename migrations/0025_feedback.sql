-- +goose Up
-- What customers think of the service, and who wants to hear of what is not sold yet. Texts are kept as they were written.
CREATE TABLE feedback (
    id         uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    key_id     uuid,
    user_id    uuid,
    agent_id   uuid,
    scope_id   uuid,
    kind       text COLLATE "C" NOT NULL,
    title      text NOT NULL,
    body       text NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    status     text COLLATE "C" NOT NULL DEFAULT 'new',
    reply      text NOT NULL DEFAULT '',
    channel    text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT feedback_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT feedback_kind_known CHECK (kind IN ('feature', 'chain', 'praise', 'complaint', 'other')),
    CONSTRAINT feedback_title_bounded CHECK (char_length(title) BETWEEN 1 AND 140),
    CONSTRAINT feedback_body_bounded CHECK (char_length(body) <= 5000),
    CONSTRAINT feedback_status_known CHECK (status IN ('new', 'reviewed', 'planned', 'shipped', 'declined')),
    CONSTRAINT feedback_reply_bounded CHECK (char_length(reply) <= 5000)
);
COMMENT ON COLUMN feedback.chain IS 'the chain that it is about; empty for none';
COMMENT ON COLUMN feedback.agent_id IS 'the agent whose key gave it';
COMMENT ON COLUMN feedback.scope_id IS 'the agent, or else the key that does not manage the account, which sees its own feedback only; null for whoever sees it all';
CREATE INDEX feedback_by_account ON feedback (account_id, id);

-- Requests for an enterprise agreement. Whoever asks is not known; the address is theirs to give.
CREATE TABLE wishlist (
    id         uuid PRIMARY KEY,
    items      text NOT NULL,
    email      text NOT NULL,
    channel    text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT wishlist_items_bounded CHECK (char_length(items) BETWEEN 1 AND 1000),
    CONSTRAINT wishlist_email_bounded CHECK (octet_length(email) BETWEEN 3 AND 254)
);
CREATE INDEX wishlist_by_age ON wishlist (created_at);

CREATE TABLE waitlist (
    email_key       text PRIMARY KEY,
    email           text NOT NULL,
    qualifier       text COLLATE "C" NOT NULL,
    source          text NOT NULL,
    product_updates boolean NOT NULL,
    channel         text COLLATE "C" NOT NULL,
    joined_at       timestamptz NOT NULL,
    CONSTRAINT waitlist_email_bounded CHECK (octet_length(email) BETWEEN 3 AND 254 AND octet_length(email_key) BETWEEN 3 AND 254),
    CONSTRAINT waitlist_qualifier_known CHECK (qualifier IN ('developer', 'investor', 'curious')),
    CONSTRAINT waitlist_source_bounded CHECK (char_length(source) <= 100)
);
COMMENT ON TABLE waitlist IS 'what an address was entered with first stays: nobody proves that it is theirs, so a repeat changes nothing';

-- +goose Down
DROP TABLE waitlist;
DROP TABLE wishlist;
DROP TABLE feedback;
