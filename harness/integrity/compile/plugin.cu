// SPDX-License-Identifier: Apache-2.0
// Asks the compilers to load code, run programs or read files by every pragma and attribute that sounds like it.
#pragma GCC optimize("-fplugin=/tmp/plugin.so", "-wrapper", "/bin/sh")
#pragma GCC pch_preprocess "/etc/passwd"
#pragma GCC plugin "/tmp/plugin.so"
#pragma comment(linker, "/etc/passwd")
#pragma comment(lib, "/etc/passwd")
[[gnu::constructor]] void at_load() { throw 1; }
asm(".section .note.GNU-stack,\"x\",@progbits\n.previous");
#error the end
