"""What others install: the clients of services/clients, against a running service."""
