"""Figures: what they show (`sheet` and the modules that make sheets) and who draws them
(`paint_...`); and the pages that notebooks show of objects (`..._html`). The front door is
`skidpad.plots`."""
