-- +goose Up
-- The record's own epoch. Versions of fences are compared within one; what a later one says replaces whatever an earlier one said. A column
-- with a constant default rewrites nothing.
ALTER TABLE deployment ADD epoch bigint NOT NULL DEFAULT 0, ADD server text COLLATE "C";
ALTER TABLE deployment ADD CONSTRAINT deployment_epoch_not_negative CHECK (epoch >= 0);
COMMENT ON COLUMN deployment.epoch IS '0, then when it began, in ms since 1970, and more than any before';
COMMENT ON COLUMN deployment.server IS 'PostgreSQL of this epoch: system identifier and timeline; null when it does not say';

-- +goose Down
ALTER TABLE deployment DROP epoch, DROP server;
