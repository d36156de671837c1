#!/bin/sh
# Run once by the postgres image on an empty volume: create saycart's role, not a superuser, so that row-level security
# applies to it (ADR 58). The superuser has no password: it can only sign in inside the container.
set -eu
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE saycart LOGIN PASSWORD :'password' NOSUPERUSER NOBYPASSRLS;
SELECT format('ALTER DATABASE %I OWNER TO saycart', current_database()) \gexec
SELECT format('ALTER ROLE %I PASSWORD NULL', current_user) \gexec
SQL
