"""Files on any file system that pyarrow reaches: names, syncing, full disks."""
