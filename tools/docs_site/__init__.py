"""The documentation site: plain pages of `docs`, put in order, with a generated API reference.

Sphinx builds it with the PyData theme; both have many users and keepers and permissive licences.
What a page looks like on a hosting site of code must not depend on them: pages have no
directives, and all that Sphinx needs beside them (tables of contents, frames with live pages,
the reference) is added to copies of them in `build`.
"""
