-- +goose Up
-- What customers ask support, with what was known of it when they did. Texts are kept as they were written; whoever shows them escapes them.
CREATE SEQUENCE ticket_numbers AS bigint START WITH 1001;

CREATE TABLE tickets (
    number           bigint PRIMARY KEY DEFAULT nextval('ticket_numbers'),
    account_id       uuid NOT NULL,
    key_id           uuid,
    user_id          uuid,
    agent_id         uuid,
    scope_id         uuid,
    subject          text NOT NULL,
    category         text COLLATE "C" NOT NULL,
    priority         text COLLATE "C" NOT NULL,
    channel          text COLLATE "C" NOT NULL,
    status           text COLLATE "C" NOT NULL,
    symptom_code     integer,
    symptom_chain    text COLLATE "C",
    symptom_method   text COLLATE "C",
    gathers          boolean NOT NULL,
    request_id       uuid,
    evidence         jsonb NOT NULL,
    messages         integer NOT NULL,
    created_at       timestamptz NOT NULL,
    last_activity_at timestamptz NOT NULL,
    resolved_at      timestamptz,
    closed_at        timestamptz,
    version          bigint NOT NULL DEFAULT 0,
    told_version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT tickets_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT tickets_number_positive CHECK (number > 0),
    CONSTRAINT tickets_subject_bounded CHECK (char_length(subject) BETWEEN 1 AND 140),
    CONSTRAINT tickets_category_known CHECK (category IN ('incident', 'question', 'billing', 'other')),
    CONSTRAINT tickets_priority_known CHECK (priority IN ('low', 'normal', 'high', 'urgent')),
    CONSTRAINT tickets_channel_named CHECK (channel <> ''),
    CONSTRAINT tickets_status_known CHECK (status IN ('open', 'waiting_customer', 'waiting_us', 'resolved', 'closed')),
    CONSTRAINT tickets_symptom_whole CHECK (num_nulls(symptom_code, symptom_chain, symptom_method) IN (0, 3)),
    CONSTRAINT tickets_gathers_by_symptom CHECK (NOT gathers OR (symptom_code IS NOT NULL AND status NOT IN ('resolved', 'closed'))),
    CONSTRAINT tickets_evidence_object CHECK (jsonb_typeof(evidence) = 'object'),
    CONSTRAINT tickets_messages_bounded CHECK (messages BETWEEN 0 AND 201),
    CONSTRAINT tickets_resolved_at_set CHECK (status <> 'resolved' OR resolved_at IS NOT NULL),
    CONSTRAINT tickets_closed_at_set CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
    CONSTRAINT tickets_told_not_ahead CHECK (told_version BETWEEN 0 AND version)
);
COMMENT ON COLUMN tickets.number IS 'CAG-<number> is the reference';
COMMENT ON COLUMN tickets.agent_id IS 'the agent whose key made it';
COMMENT ON COLUMN tickets.scope_id IS 'the agent, or else the key that does not manage the account, which sees its own tickets only; null for whoever sees them all';
COMMENT ON COLUMN tickets.gathers IS 'whether the same symptom joins it: of a symptom there is one such ticket';
COMMENT ON COLUMN tickets.evidence IS 'what was known when it was made; holds no parameters, results, keys or addresses';
COMMENT ON COLUMN tickets.messages IS 'how many ticket_messages it has';
COMMENT ON COLUMN tickets.version IS 'grows with every change that the flow of the ticket must hear of, from when it is first resolved; told_version is the newest that it has';
CREATE UNIQUE INDEX tickets_one_per_symptom
    ON tickets (account_id, coalesce(scope_id, '00000000-0000-0000-0000-000000000000'), symptom_code, symptom_chain, symptom_method) WHERE gathers;
CREATE INDEX tickets_by_account ON tickets (account_id, number);
CREATE INDEX tickets_by_age ON tickets (account_id, created_at);
CREATE INDEX tickets_unresolved ON tickets (account_id, number) WHERE status NOT IN ('resolved', 'closed');
CREATE INDEX tickets_untold ON tickets (number) WHERE told_version < version;
CREATE INDEX tickets_resolved ON tickets (last_activity_at) WHERE status = 'resolved';

CREATE TABLE ticket_messages (
    ticket     bigint NOT NULL,
    place      integer NOT NULL,
    author     text COLLATE "C" NOT NULL,
    body       text NOT NULL,
    request_id uuid,
    at         timestamptz NOT NULL,
    CONSTRAINT ticket_messages_pkey PRIMARY KEY (ticket, place),
    CONSTRAINT ticket_messages_ticket_exists FOREIGN KEY (ticket) REFERENCES tickets (number),
    CONSTRAINT ticket_messages_place_counted CHECK (place BETWEEN 1 AND 201),
    CONSTRAINT ticket_messages_author_known CHECK (author IN ('customer', 'operator', 'service')),
    CONSTRAINT ticket_messages_body_bounded CHECK (char_length(body) BETWEEN 1 AND 5000)
);
COMMENT ON COLUMN ticket_messages.request_id IS 'the call that it is about, when the customer named one';

-- +goose Down
DROP TABLE ticket_messages;
DROP TABLE tickets;
DROP SEQUENCE ticket_numbers;
