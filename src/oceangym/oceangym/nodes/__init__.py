"""The bring-up's launch files, which ROS's own launch runs."""

from oceangym.distributions import check_distributions

# Here, because everything else of this folder imports what pip brings.
check_distributions()
