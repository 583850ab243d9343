-- +goose Up
-- A path to come back to after a sign-in may carry a secret, such as a claim code, so it is kept sealed. Those of sign-ins under way are
-- dropped: they would be for 15 minutes at most, and lead to the overview then.
ALTER TABLE sign_ins
    DROP CONSTRAINT sign_ins_return_to_local,
    ALTER COLUMN return_to TYPE bytea USING ''::bytea,
    ADD CONSTRAINT sign_ins_return_to_bounded CHECK (octet_length(return_to) <= 1100);
COMMENT ON COLUMN sign_ins.return_to IS 'local path to come back to, sealed; emptied when the sign-in is used';

-- +goose Down
ALTER TABLE sign_ins
    DROP CONSTRAINT sign_ins_return_to_bounded,
    ALTER COLUMN return_to TYPE text USING '',
    ADD CONSTRAINT sign_ins_return_to_local
        CHECK (return_to = '' OR (return_to LIKE '/%' AND return_to NOT LIKE '//%' AND octet_length(return_to) <= 1024));
COMMENT ON COLUMN sign_ins.return_to IS 'local path to come back to; emptied when the sign-in is used';
