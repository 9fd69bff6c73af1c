"""Analysis of results: statistics, comparisons, tables, export."""
