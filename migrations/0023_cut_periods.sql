-- +goose Up
-- Usage is counted into a period until its cut is in force, which may be long after the end that Stripe tells.
ALTER TABLE ended_periods ADD COLUMN cut_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN ended_periods.cut_at IS 'when the cut was made, by the clock of who made it; its usage ends some seconds later';

-- +goose Down
ALTER TABLE ended_periods DROP COLUMN cut_at;
