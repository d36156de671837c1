#!/bin/sh
# Of the stand-ins for redis and postgres: as much of the official images' entrypoints as docker-compose.yml leans on.
set -eu

case "$1" in
  redis-server)
    # The official image is built with the protected mode off; Debian's refuses whoever is not on loopback.
    exec "$@" --protected-mode no
    ;;
  postgres)
    if [ ! -s "$PGDATA/PG_VERSION" ]; then
      password=$(mktemp)
      printf '%s' "${POSTGRES_PASSWORD:?}" >"$password"
      initdb --username="${POSTGRES_USER:=postgres}" --pwfile="$password" --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8
      rm "$password"
      echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
      if [ "${POSTGRES_DB:=$POSTGRES_USER}" != postgres ]; then
        # Not over TCP, so that nobody is told "ready" before there is a database to be ready.
        pg_ctl start --wait -o "-c listen_addresses=''"
        createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
        export POSTGRES_USER POSTGRES_DB
        for script in /docker-entrypoint-initdb.d/*.sh; do [ ! -e "$script" ] || sh "$script"; done
        pg_ctl stop --wait --mode=fast
      fi
    fi
    exec "$@" -c listen_addresses='*'
    ;;
  *) exec "$@" ;;
esac
