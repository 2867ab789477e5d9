"""Decodes messages with libtirpc, the C library that libvirt's daemons decode with.

Each line of input is a message in hexadecimal, with the fields of the test's type "all". Each line of output is the value in
the standard's encoding, written by libtirpc as well, or "refused".
"""

import ctypes
import sys

C = ctypes.CDLL("libtirpc.so.3")
ENCODE, DECODE = 0, 1
STRING_MAX = 4 << 20


class XDR(ctypes.Structure):
    """The beginning of libtirpc's XDR, and room for the rest."""

    _fields_ = [("op", ctypes.c_int), ("ops", ctypes.c_void_p), ("public", ctypes.c_void_p), ("private", ctypes.c_void_p), ("rest", ctypes.c_void_p * 12)]


def address(name):
    return ctypes.cast(getattr(C, name), ctypes.c_void_p)


class Value:
    """The storage of one value, which C code fills and reads."""

    def __init__(self):
        self.int32 = ctypes.c_int()
        self.uint64 = ctypes.c_ulong()
        self.int64 = ctypes.c_long()
        self.double = ctypes.c_double()
        self.bool = ctypes.c_int()
        self.fixed = ctypes.create_string_buffer(5)
        self.string = ctypes.c_char_p()
        self.opaque, self.opaque_len = ctypes.c_void_p(), ctypes.c_uint()
        self.chars = ctypes.create_string_buffer(8)
        self.items, self.items_len = ctypes.c_void_p(), ctypes.c_uint()
        self.some = ctypes.c_void_p()
        self.opt = ctypes.c_void_p()
        self.strings, self.strings_len = ctypes.c_void_p(), ctypes.c_uint()
        self.ints, self.ints_len = ctypes.c_void_p(), ctypes.c_uint()

    def code(self, x):
        ref, size = ctypes.byref, ctypes.c_uint
        return (
            C.xdr_int(x, ref(self.int32))
            and C.xdr_u_hyper(x, ref(self.uint64))
            and C.xdr_hyper(x, ref(self.int64))
            and C.xdr_double(x, ref(self.double))
            and C.xdr_bool(x, ref(self.bool))
            and C.xdr_opaque(x, self.fixed, size(5))
            and C.xdr_string(x, ref(self.string), size(STRING_MAX))
            and C.xdr_bytes(x, ref(self.opaque), ref(self.opaque_len), size(100))
            and C.xdr_vector(x, self.chars, size(8), size(1), address("xdr_char"))
            and C.xdr_array(x, ref(self.items), ref(self.items_len), size(10), size(4), address("xdr_u_int"))
            and C.xdr_pointer(x, ref(self.some), size(4), address("xdr_u_int"))
            and C.xdr_pointer(x, ref(self.opt), size(8), address("xdr_wrapstring"))
            and C.xdr_array(x, ref(self.strings), ref(self.strings_len), size(10), size(8), address("xdr_wrapstring"))
            and C.xdr_array(x, ref(self.ints), ref(self.ints_len), size(10), size(4), address("xdr_int"))
        )


def convert(message):
    v, x = Value(), XDR()
    source = ctypes.create_string_buffer(message, len(message) or 1)
    C.xdrmem_create(ctypes.byref(x), source, ctypes.c_uint(len(message)), ctypes.c_int(DECODE))
    if not v.code(ctypes.byref(x)):
        return "refused"
    v.chars.value = v.chars.raw[:7].split(b"\0")[0].ljust(7, b"\0")  # what counts of a character array
    target = ctypes.create_string_buffer(4096 + 4 * len(message))
    C.xdrmem_create(ctypes.byref(x), target, ctypes.c_uint(len(target)), ctypes.c_int(ENCODE))
    if not v.code(ctypes.byref(x)):
        return "cannot be written"
    written = x.private - ctypes.addressof(target)  # xdr_getpos is a macro
    return target.raw[:written].hex()


for line in sys.stdin:
    print(convert(bytes.fromhex(line.strip())), flush=True)
