"""The pages, one file each. Streamlit runs a file when its page is opened."""
