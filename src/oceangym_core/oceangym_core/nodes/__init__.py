"""What the nodes of every package share: QoS, conversions, parameters, start and end."""
