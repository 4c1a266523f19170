"""From a plan to Penstock's graph: an operator for each node, with a uid that comes from the plan."""
