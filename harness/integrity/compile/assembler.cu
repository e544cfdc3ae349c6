// SPDX-License-Identifier: Apache-2.0
// Four gigabytes, said in three words of assembler.
asm(".data\n.fill 0x40000000, 4, 7\n.previous");
