"""The controller, pure: what happens in a cluster comes in, what to write and whom to tell goes out. Start with
`controller`.
"""
