"""The arithmetic of serving: memory, roofline, communication, speculation, cost."""
