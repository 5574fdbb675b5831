# A file system in which nothing exists, and each look-up takes DELAY seconds: slow_files.py DIRECTORY DELAY
# The messages are those of linux/fuse.h.
import ctypes
import errno
import os
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, INIT, INTERRUPT, BATCH_FORGET, DESTROY = 1, 2, 3, 26, 36, 42, 38
directory, delay = sys.argv[1], float(sys.argv[2])
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"slow", directory.encode(), b"fuse.slow", 0, options.encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
print("mounted", flush=True)
root = struct.pack("<QII6Q10I", 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
while True:
    try:
        message = os.read(device, 1 << 18)
    except OSError as error:
        if error.errno == errno.ENODEV:
            break
        raise
    _, what, number = struct.unpack("<IIQ", message[:16])

    def reply(error, data=b""):
        os.write(device, struct.pack("<IiQ", 16 + len(data), -error, number) + data)

    if what == INIT:
        reply(0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 131072, 0, 12, 9, 131072, 1, 32, 0, 0, *[0] * 7))
    elif what == GETATTR:
        reply(0, root)
    elif what == LOOKUP:
        time.sleep(delay)
        reply(errno.ENOENT)
    elif what == DESTROY:
        reply(0)
    elif what not in (FORGET, BATCH_FORGET, INTERRUPT):
        reply(errno.ENOSYS)
