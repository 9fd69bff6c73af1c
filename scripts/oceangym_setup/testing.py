def run(workspace, arguments): return 0
