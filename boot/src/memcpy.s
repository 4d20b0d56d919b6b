// memcpy for the hot path: every received payload byte is copied once, and the compiler's portable routine takes more
// than two instructions a byte when source and destination are aligned differently (they are, by the 14 + 20 + 20 bytes
// of headers). General registers only, because handlers do not save the vector registers.
//
// Accesses are aligned whenever both pointers are, so it is safe before the MMU is on for copies of aligned data;
// otherwise it needs normal memory, which allows any alignment. Never for device memory.

.section .text.memcpy, "ax"
.global memcpy
.type memcpy, %function
memcpy:                                 // x0 destination (returned), x1 source, x2 bytes
    mov     x3, x0
    subs    x2, x2, #64
    b.lo    2f
1:  ldp     x4, x5, [x1]
    ldp     x6, x7, [x1, #16]
    ldp     x8, x9, [x1, #32]
    ldp     x10, x11, [x1, #48]
    add     x1, x1, #64
    stp     x4, x5, [x3]
    stp     x6, x7, [x3, #16]
    stp     x8, x9, [x3, #32]
    stp     x10, x11, [x3, #48]
    add     x3, x3, #64
    subs    x2, x2, #64
    b.hs    1b
2:  add     x2, x2, #64                 // 0..63 bytes left
    tbz     x2, #5, 3f
    ldp     x4, x5, [x1]
    ldp     x6, x7, [x1, #16]
    add     x1, x1, #32
    stp     x4, x5, [x3]
    stp     x6, x7, [x3, #16]
    add     x3, x3, #32
3:  tbz     x2, #4, 4f
    ldp     x4, x5, [x1], #16
    stp     x4, x5, [x3], #16
4:  tbz     x2, #3, 5f
    ldr     x4, [x1], #8
    str     x4, [x3], #8
5:  and     x2, x2, #7
    cbz     x2, 7f
6:  ldrb    w4, [x1], #1
    strb    w4, [x3], #1
    subs    x2, x2, #1
    b.ne    6b
7:  ret
.size memcpy, . - memcpy
