"""Files of a checkpoint directory that only one driver may create: whole or not at all, and never over another's.

On a local disk a link makes the file: it fails if the name is taken or the draft is gone, in one step that no pause
can split. Other file systems offer no such step through pyarrow: there the name is looked at before the file is moved,
and the content after it, which finds two writers out but cannot keep both from writing.
"""

from __future__ import annotations

import errno
import os

from pyarrow import fs

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


def create_exclusively(filesystem: fs.FileSystem, draft: str, path: str) -> None:
    """Give a draft its name.

    Raises FileExistsError if something has the name, and FileNotFoundError if the draft, or the folder of its owner, is
    gone. The draft is used up.
    """
    if isinstance(filesystem, fs.LocalFileSystem):
        try:
            os.link(draft, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            os.unlink(draft)
            return
    _look_and_move(filesystem, draft, path)


def _look_and_move(filesystem: fs.FileSystem, draft: str, path: str) -> None:
    if filesystem.get_file_info(path).type != fs.FileType.NotFound:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    with filesystem.open_input_stream(draft, compression=None) as stream:
        content = stream.read()
    filesystem.move(draft, path)
    with filesystem.open_input_stream(path, compression=None) as stream:
        if stream.read() != content:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
