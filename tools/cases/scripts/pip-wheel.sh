#!/bin/sh
# A package that pip can install.
printf 'x = 1\n' >x.py
mkdir x-1.dist-info
printf 'Metadata-Version: 2.1\nName: x\nVersion: 1\n' >x-1.dist-info/METADATA
printf 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >x-1.dist-info/WHEEL
printf '%s,,\n' x.py x-1.dist-info/METADATA x-1.dist-info/WHEEL x-1.dist-info/RECORD >x-1.dist-info/RECORD
python3 -m zipfile -c x-1-py3-none-any.whl x.py x-1.dist-info
