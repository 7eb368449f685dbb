"""Live view: a world in real time, to be watched and driven in a browser.

An `Arena` is a world with a controller for each vehicle; a `Session` runs one in its own thread,
synchronised with the clock; a `Room` holds the viewers, one of whom may drive. The `server` puts
the room on the network. docs/live.md describes the protocol.
"""
