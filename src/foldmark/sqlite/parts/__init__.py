"""The parts of the SQLite store, divided as the protocol is."""
