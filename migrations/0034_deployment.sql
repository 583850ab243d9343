-- +goose Up
-- One row that says which deployment this is. The first start writes it, so that a copy of an empty schema is no copy of a deployment.
CREATE TABLE deployment (
    one           boolean NOT NULL DEFAULT true,
    id            uuid,
    pepper_canary bytea,
    CONSTRAINT deployment_pkey PRIMARY KEY (one),
    CONSTRAINT deployment_one_row CHECK (one),
    CONSTRAINT deployment_canary_length CHECK (octet_length(pepper_canary) = 32)
);
COMMENT ON COLUMN deployment.id IS 'stands in Redis and in Temporal too, so that two deployments never share one';
COMMENT ON COLUMN deployment.pepper_canary IS 'digest of a constant under KEY_PEPPER, by which another pepper is found at the start';
INSERT INTO deployment DEFAULT VALUES;

-- +goose Down
DROP TABLE deployment;
