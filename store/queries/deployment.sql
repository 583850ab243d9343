-- name: GetDeployment :one
SELECT *
FROM deployment;

-- name: WritePepperCanary :exec
-- Once: whoever comes later compares.
UPDATE deployment
SET pepper_canary = sqlc.arg(canary)::bytea
WHERE pepper_canary IS NULL;

-- name: ClaimDeploymentID :one
-- The first start's id stays.
UPDATE deployment
SET id = coalesce(id, sqlc.arg(id)::uuid)
RETURNING id::uuid AS id;

-- name: NoteServer :exec
-- The first epoch belongs to the server that is there first.
UPDATE deployment
SET server = sqlc.arg(server)::text
WHERE server IS NULL;

-- name: BeginEpochAt :one
-- Once for each server: who comes second finds it begun.
UPDATE deployment
SET epoch = greatest(epoch + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), server = sqlc.arg(server)::text
WHERE server IS DISTINCT FROM sqlc.arg(server)::text
RETURNING epoch;

-- name: BeginEpoch :one
UPDATE deployment
SET epoch = greatest(epoch + 1, sqlc.arg(least)::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint),
    server = sqlc.narg(server)
RETURNING epoch;
