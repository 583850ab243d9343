-- name: GetKeyByClaim :one
SELECT *
FROM keys
WHERE claim_digest = sqlc.arg(digest)::bytea;

-- name: GetAdoption :one
SELECT *
FROM adoptions
WHERE key_id = $1;

-- name: GetAdoptionByClaim :one
SELECT *
FROM adoptions
WHERE claim_digest = $1;

-- name: InsertAdoption :one
INSERT INTO adoptions (key_id, claim_digest, from_account, account_id, user_id)
VALUES ($1, $2, $3, $4, $5)
RETURNING *;

-- name: AdoptKey :one
UPDATE keys
SET account_id = sqlc.arg(account), door = 'owner_adopted', daily_units = NULL, monthly_cap = NULL, claim_digest = NULL, version = version + 1
WHERE id = sqlc.arg(id)
RETURNING *;

-- name: ShareAccount :one
-- Nobody changes it before the transaction ends.
SELECT *
FROM accounts
WHERE id = $1
FOR SHARE;

-- name: MoveTicketsOfKey :exec
-- What a key asked support goes with it.
UPDATE tickets
SET account_id = sqlc.arg(account)
WHERE account_id = sqlc.arg(from_account) AND key_id = sqlc.arg(key);

-- name: MoveFeedbackOfKey :exec
UPDATE feedback
SET account_id = sqlc.arg(account)
WHERE account_id = sqlc.arg(from_account) AND key_id = sqlc.arg(key);

-- name: MoveDeskLinesOfKey :exec
-- What was done about what the key asked and thought, before these move. An id of a form is forgotten: it was the old account's
-- own, and the new one may have sent the same.
UPDATE desk_log
SET account_id = sqlc.arg(account)::uuid, form_id = NULL, form_digest = NULL
WHERE account_id = sqlc.arg(from_account)::uuid AND subject = ANY(
    ARRAY(SELECT 'CAG-' || t.number FROM tickets AS t WHERE t.account_id = sqlc.arg(from_account)::uuid AND t.key_id = sqlc.arg(key)::uuid)
    || ARRAY(SELECT 'feedback/' || f.id FROM feedback AS f WHERE f.account_id = sqlc.arg(from_account)::uuid AND f.key_id = sqlc.arg(key)::uuid)
);
