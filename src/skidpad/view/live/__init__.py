"""A world that runs in real time, for people to watch in a browser and to drive.

An `Arena` is a world with something that drives each vehicle; a `Session` runs one in a thread of
its own, in step with the clock; a `Room` has the people who watch and the one who drives. The
`server` puts the room on the network. docs/live.md has the protocol.
"""
