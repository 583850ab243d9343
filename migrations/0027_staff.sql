-- +goose Up
-- Those who answer tickets, what they and customers did at the desk, what became of wishes, and subscriptions that support has to look at.
-- Behind a lock that waits every writer queues, so this gives up soon, and the migration is run again.
SET LOCAL lock_timeout = '3s';
CREATE TABLE staff (
    user_id  uuid PRIMARY KEY,
    since    timestamptz NOT NULL,
    added_by text NOT NULL,
    CONSTRAINT staff_user_exists FOREIGN KEY (user_id) REFERENCES users (id),
    CONSTRAINT staff_added_by_somebody CHECK (added_by <> '')
);
COMMENT ON TABLE staff IS 'users who see and answer the tickets and the feedback of every account';

CREATE TABLE desk_log (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL,
    account_id  uuid,
    subject     text COLLATE "C" NOT NULL,
    actor       text NOT NULL,
    origin      text COLLATE "C" NOT NULL,
    action      text COLLATE "C" NOT NULL,
    before      jsonb NOT NULL,
    after       jsonb NOT NULL,
    form_id     uuid,
    form_digest bytea,
    CONSTRAINT desk_log_subject_named CHECK (subject <> ''),
    CONSTRAINT desk_log_actor_named CHECK (actor <> ''),
    CONSTRAINT desk_log_action_named CHECK (action <> ''),
    CONSTRAINT desk_log_form_of_account CHECK (form_id IS NULL OR account_id IS NOT NULL),
    CONSTRAINT desk_log_form_digest_sha256 CHECK ((form_id IS NULL) = (form_digest IS NULL) AND octet_length(form_digest) = 32)
);
COMMENT ON TABLE desk_log IS 'what was done about tickets, feedback and wishes, and who may do it; who and when, no texts of people';
COMMENT ON COLUMN desk_log.subject IS 'reference of a ticket, feedback/<id>, wish/<id> or staff/<user>';
COMMENT ON COLUMN desk_log.actor IS 'user <id>, key <id>, an operator, or service';
COMMENT ON COLUMN desk_log.form_id IS 'of the form that was sent; an account sends each once';
COMMENT ON COLUMN desk_log.form_digest IS 'of what the form said: the same again was done, anything else is refused';
CREATE UNIQUE INDEX desk_log_forms ON desk_log (account_id, form_id) WHERE form_id IS NOT NULL;
CREATE INDEX desk_log_by_subject ON desk_log (subject, id);

-- Lists of the desk go by these, one short walk for each status and priority.
CREATE INDEX tickets_by_status ON tickets (status, priority, number);

-- Several people and keys of an account write to one ticket, and tell their messages apart.
ALTER TABLE ticket_messages
    ADD COLUMN writer text COLLATE "C" NOT NULL DEFAULT '',
    ADD CONSTRAINT ticket_messages_writer_of_customer CHECK (writer = '' OR author = 'customer');
COMMENT ON COLUMN ticket_messages.writer IS 'who of the account wrote it, user <id> or key <id>; empty for other authors, and where it was not recorded';

ALTER TABLE feedback
    ADD COLUMN answers integer NOT NULL DEFAULT 0,
    ADD COLUMN answered_at timestamptz,
    ADD CONSTRAINT feedback_answers_counted CHECK (answers >= 0);
COMMENT ON COLUMN feedback.answers IS 'how often the service answered; whoever answers says how many they have seen';
CREATE INDEX feedback_by_status ON feedback (status, id);

ALTER TABLE wishlist
    ADD COLUMN status text COLLATE "C" NOT NULL DEFAULT 'new',
    ADD COLUMN reply text NOT NULL DEFAULT '',
    ADD COLUMN answers integer NOT NULL DEFAULT 0,
    ADD COLUMN answered_at timestamptz,
    DROP CONSTRAINT wishlist_items_bounded,
    DROP CONSTRAINT wishlist_email_bounded,
    ADD CONSTRAINT wishlist_items_bounded CHECK (CASE WHEN status = 'withdrawn' THEN items = '' ELSE char_length(items) BETWEEN 1 AND 1000 END),
    ADD CONSTRAINT wishlist_email_bounded CHECK (CASE WHEN status = 'withdrawn' THEN email = '' ELSE octet_length(email) BETWEEN 3 AND 254 END),
    ADD CONSTRAINT wishlist_status_known CHECK (status IN ('new', 'talking', 'agreed', 'declined', 'withdrawn')),
    ADD CONSTRAINT wishlist_reply_bounded CHECK (char_length(reply) <= 5000),
    ADD CONSTRAINT wishlist_answers_counted CHECK (answers >= 0);
COMMENT ON COLUMN wishlist.status IS 'withdrawn ones hold nothing of what was entered any more';
CREATE INDEX wishlist_by_status ON wishlist (status, id);
-- Addresses are found again whatever the case of their letters; domains are in ASCII already.
CREATE INDEX wishlist_by_email ON wishlist (lower(email COLLATE "C")) WHERE status <> 'withdrawn';

ALTER TABLE waitlist
    ADD COLUMN confirmed_at timestamptz,
    ADD COLUMN invited_at timestamptz,
    ADD COLUMN status text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE WHEN invited_at IS NOT NULL THEN 'invited' WHEN confirmed_at IS NOT NULL THEN 'confirmed' ELSE 'waiting' END
    ) STORED,
    ADD CONSTRAINT waitlist_invited_confirmed CHECK (invited_at IS NULL OR confirmed_at IS NOT NULL);
COMMENT ON COLUMN waitlist.product_updates IS 'asked for; in effect once the address is confirmed';
COMMENT ON COLUMN waitlist.confirmed_at IS 'when whoever reads the address said that it is theirs';
CREATE INDEX waitlist_by_status ON waitlist (status, joined_at, email_key);

-- An address that nobody proved to be theirs is written to once for ever for each thing that was entered with it.
CREATE TABLE confirmations (
    email_digest bytea NOT NULL,
    about        text COLLATE "C" NOT NULL,
    at           timestamptz NOT NULL,
    left_at      timestamptz,
    CONSTRAINT confirmations_pkey PRIMARY KEY (email_digest, about),
    CONSTRAINT confirmations_digest_sha256 CHECK (octet_length(email_digest) = 32),
    CONSTRAINT confirmations_about_known CHECK (about IN ('wishlist', 'waitlist'))
);
COMMENT ON COLUMN confirmations.email_digest IS 'keyed digest of the address; the rows are kept, so that no address is written to twice';
COMMENT ON COLUMN confirmations.left_at IS 'since when the address is off the waitlist by the wish of whoever reads it, so that nobody else puts it back; null otherwise';
CREATE INDEX confirmations_by_age ON confirmations (at);

ALTER TABLE subscriptions ADD COLUMN odd_price text NOT NULL DEFAULT '';
COMMENT ON COLUMN subscriptions.odd_price IS 'id of what Stripe charges instead of price when that is of no plan of ours, for operators to see; empty otherwise';
ALTER TABLE billing_customers
    ADD COLUMN beside smallint NOT NULL DEFAULT 0,
    ADD CONSTRAINT billing_customers_beside_counted CHECK (beside >= 0);
COMMENT ON COLUMN billing_customers.beside IS 'subscriptions that counted once and last at Stripe beside the one that counts, for operators to see';
CREATE INDEX billing_customers_with_beside ON billing_customers (account_id) WHERE beside > 0;

-- +goose Down
SET LOCAL lock_timeout = '3s';
ALTER TABLE billing_customers DROP COLUMN beside;
ALTER TABLE subscriptions DROP COLUMN odd_price;
DROP TABLE confirmations;
DROP INDEX waitlist_by_status;
ALTER TABLE waitlist DROP COLUMN status, DROP COLUMN confirmed_at, DROP COLUMN invited_at;
DROP INDEX wishlist_by_email;
DELETE FROM wishlist WHERE status = 'withdrawn';
ALTER TABLE wishlist
    DROP CONSTRAINT wishlist_items_bounded,
    DROP CONSTRAINT wishlist_email_bounded,
    DROP COLUMN status,
    DROP COLUMN reply,
    DROP COLUMN answers,
    DROP COLUMN answered_at,
    ADD CONSTRAINT wishlist_items_bounded CHECK (char_length(items) BETWEEN 1 AND 1000),
    ADD CONSTRAINT wishlist_email_bounded CHECK (octet_length(email) BETWEEN 3 AND 254);
ALTER TABLE ticket_messages DROP COLUMN writer;
DROP INDEX feedback_by_status;
ALTER TABLE feedback DROP COLUMN answers, DROP COLUMN answered_at;
DROP INDEX tickets_by_status;
DROP TABLE desk_log;
DROP TABLE staff;
