"""The dashboard: one ASGI application, its routes and its pages. Pages lay out; they compute nothing."""
