-- name: InsertSignIn :exec
INSERT INTO sign_ins (id, email, email_key, link_digest, code_digest, browser_digest, return_to, network, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: GetSignInByLink :one
SELECT email, email_key, expires_at
FROM sign_ins
WHERE link_digest = sqlc.arg(link_digest) AND used_at IS NULL AND wrong_codes < 5 AND expires_at > sqlc.arg(at)::timestamptz;

-- name: GetSignInOfBrowser :one
SELECT email, email_key, expires_at
FROM sign_ins
WHERE browser_digest = sqlc.arg(browser_digest) AND used_at IS NULL AND wrong_codes < 5 AND expires_at > sqlc.arg(at)::timestamptz;

-- name: LockSignInByLink :one
SELECT id, email, email_key, return_to
FROM sign_ins
WHERE link_digest = sqlc.arg(link_digest) AND used_at IS NULL AND wrong_codes < 5 AND expires_at > sqlc.arg(at)::timestamptz
FOR UPDATE;

-- name: LockSignInOfBrowser :one
SELECT id, email, email_key, code_digest, return_to, wrong_codes
FROM sign_ins
WHERE browser_digest = sqlc.arg(browser_digest) AND used_at IS NULL AND wrong_codes < 5 AND expires_at > sqlc.arg(at)::timestamptz
FOR UPDATE;

-- name: UseSignIn :exec
UPDATE sign_ins
SET used_at = sqlc.arg(at)::timestamptz, return_to = ''
WHERE id = sqlc.arg(id);

-- name: CountWrongCode :exec
UPDATE sign_ins
SET wrong_codes = wrong_codes + 1
WHERE id = $1;

-- name: DeletePastSignIns :execrows
DELETE FROM sign_ins
WHERE id IN (SELECT past.id FROM sign_ins AS past WHERE past.expires_at < sqlc.arg(before) ORDER BY past.expires_at LIMIT sqlc.arg(max_rows));
