"""PyFlink's file enumerators and split assigners; here the engine does this."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BY_THE_ENGINE", "FileEnumeratorProvider", "FileSplitAssignerProvider"]

BY_THE_ENGINE = "the engine lists the files, splits large ones of formats that can be split, and places the tasks"


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """Which files are taken, and whether they are split; all kinds find the same files."""

    splits_files: bool = True

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Files in all folders, hidden ones left out, large ones split: what is done anyway."""
        return FileEnumeratorProvider(True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """The same, with each file read by one task."""
        return FileEnumeratorProvider(False)


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Which reader gets which file."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Readers near the file, where there are some: what is done anyway."""
        return FileSplitAssignerProvider()
