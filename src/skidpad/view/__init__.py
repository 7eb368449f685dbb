"""What a person sees of a run or a world: figures, pages, films, live views, recordings."""
