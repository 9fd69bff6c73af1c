"""Settings of all tests: an example of hypothesis may take any wall time, as machines may be loaded."""

from hypothesis import settings

settings.register_profile('no deadline', deadline=None)
settings.load_profile('no deadline')
