#!/bin/sh
# Run once by the image of postgres, while its volume is still empty: saycart's own role, which is no superuser, so that
# the database keeps shops apart for it (ADR 58). The superuser keeps no password: it signs in inside the container alone.
set -eu
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE saycart LOGIN PASSWORD :'password' NOSUPERUSER NOBYPASSRLS;
SELECT format('ALTER DATABASE %I OWNER TO saycart', current_database()) \gexec
SELECT format('ALTER ROLE %I PASSWORD NULL', current_user) \gexec
SQL
