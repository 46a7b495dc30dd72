"""The pytest plugin: options, items, outcomes and the fixture. pytest loads only `hooks` at start-up."""
