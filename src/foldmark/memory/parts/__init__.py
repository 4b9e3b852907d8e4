"""The parts of the store in memory, divided as the protocol is."""
