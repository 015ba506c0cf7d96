"""What Streamlit runs for every page: its frame and its navigation."""

from __future__ import annotations

import streamlit as st

from app import warm
from app.style import css

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect y="3" width="16" height="10" rx="2" fill="#CFE8DC"/>'
    '<rect x="5" y="3" width="7" height="10" fill="#E69F00"/></svg>'
)
warm.load()
st.set_page_config(page_title="LLM serving diagnostics", page_icon=ICON, layout="wide")
st.html(css())
st.navigation(
    [
        st.Page("views/now.py", title="Now", default=True),
        st.Page("views/fleet.py", title="Fleet", url_path="fleet"),
        st.Page("views/latency.py", title="Latency & load", url_path="latency"),
        st.Page("views/cache.py", title="Cache", url_path="cache"),
        st.Page("views/speculation.py", title="Speculation", url_path="speculation"),
        st.Page("views/bench.py", title="Bench", url_path="bench"),
        st.Page("views/compare.py", title="Compare", url_path="compare"),
        st.Page("views/capacity.py", title="Capacity & cost", url_path="capacity"),
        st.Page("views/runbooks.py", title="Runbooks", url_path="runbooks"),
        st.Page("views/data.py", title="Data", url_path="data"),
    ],
    position="top",
).run()
