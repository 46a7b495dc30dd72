"""pytest's side: options, items, outcomes and the fixture. Only `hooks` is loaded at start-up."""
