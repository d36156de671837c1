"""The packages of services/clients, tested against a running service."""
