#!/bin/sh
# Creates or updates Temporal's databases. Idempotent. SQL_PASSWORD is the password.
set -eu

for name in temporal temporal_visibility; do
	tool() {
		temporal-sql-tool --plugin "$DB" --ep "$POSTGRES_SEEDS" -p "$DB_PORT" -u "$POSTGRES_USER" --db "$name" "$@"
	}
	tool create
	tool setup-schema -v 0.0 || echo "the schema of $name is there already"
	tool update-schema -d "/etc/temporal/schema/postgresql/v12/${name#temporal_}/versioned"
done
