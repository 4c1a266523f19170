"""Parts of the page of benchmarks: each turns one results file into text and pictures."""
