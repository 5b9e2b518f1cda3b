#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An external scheduler in a few lines of Python: has jobs start in the order given, by libsluice.

usage: reorder.py JOB...
JOB: 123, all of a job array, or an element of one: 123_4
"""
import ctypes
import sys


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class Place(ctypes.Structure):
    _fields_ = [("job_id", ctypes.c_uint32), ("priority", ctypes.c_uint32), ("elements", ctypes.c_char_p)]


Refused = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_char_p)
lib = ctypes.CDLL("libsluice.so.0")
lib.sluice_open.restype = ctypes.c_void_p
lib.sluice_close.argtypes = [ctypes.c_void_p]
lib.sluice_order.argtypes = [ctypes.c_void_p, ctypes.POINTER(Place), ctypes.c_size_t, Refused, ctypes.c_void_p,
                             ctypes.POINTER(Error)]


def place(job, priority):
    number, _, element = job.partition("_")
    return Place(int(number), priority, element.encode() or None)


def main(ids):
    error, left = Error(), []
    cluster = lib.sluice_open(None, ctypes.byref(error))
    if not cluster:
        sys.exit(error.text.decode())
    places = (Place * len(ids))(*[place(job, 1000000 - i) for i, job in enumerate(ids)])
    refused = Refused(lambda ctx, job, code, text: left.append(f"job {job}: {text.decode()}"))
    failed = lib.sluice_order(cluster, places, len(ids), refused, None, ctypes.byref(error))
    lib.sluice_close(cluster)
    if failed or left:
        sys.exit("\n".join(left) or error.text.decode())


if __name__ == "__main__":
    main(sys.argv[1:])
