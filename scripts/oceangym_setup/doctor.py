def run(workspace): return 0
