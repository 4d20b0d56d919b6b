// Exception vectors. The program runs on SP_EL0 and every exception on SP_EL1, so the frame below
// fits even when the main stack is full. Layout of the frame: ExceptionFrame in vectors.rs.

.equ FRAME_SIZE, 816
.equ IRQ_FRAME_SIZE, 592

.section .text.vectors, "ax"
.balign 2048
.global boot_vectors
boot_vectors:

.macro FATAL kind
.balign 128
    sub     sp, sp, #FRAME_SIZE
    stp     x0, x1, [sp]
    mov     x0, #\kind
    b       exception_common
.endm

.macro IRQ
.balign 128
    sub     sp, sp, #IRQ_FRAME_SIZE
    stp     x0, x1, [sp]
    b       irq_common
.endm

    FATAL   0       // current EL, SP_EL0: synchronous
    IRQ             //                     IRQ
    FATAL   2       //                     FIQ
    FATAL   3       //                     SError
    FATAL   4       // current EL, SP_ELx: an exception inside a handler
    FATAL   5
    FATAL   6
    FATAL   7
    FATAL   8       // lower EL, AArch64: we have none
    FATAL   9
    FATAL   10
    FATAL   11
    FATAL   12      // lower EL, AArch32
    FATAL   13
    FATAL   14
    FATAL   15

// Everything is kept and shown; the handler returns only after an expected fault (a probe).
exception_common:
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x19, [sp, #144]
    stp     x20, x21, [sp, #160]
    stp     x22, x23, [sp, #176]
    stp     x24, x25, [sp, #192]
    stp     x26, x27, [sp, #208]
    stp     x28, x29, [sp, #224]
    mrs     x1, elr_el1
    stp     x30, x1, [sp, #240]
    mrs     x2, spsr_el1
    mrs     x3, esr_el1
    stp     x2, x3, [sp, #256]
    mrs     x4, far_el1
    mrs     x5, sp_el0
    stp     x4, x5, [sp, #272]
    stp     x0, xzr, [sp, #288]
    stp     q0, q1, [sp, #304]
    stp     q2, q3, [sp, #336]
    stp     q4, q5, [sp, #368]
    stp     q6, q7, [sp, #400]
    stp     q8, q9, [sp, #432]
    stp     q10, q11, [sp, #464]
    stp     q12, q13, [sp, #496]
    stp     q14, q15, [sp, #528]
    stp     q16, q17, [sp, #560]
    stp     q18, q19, [sp, #592]
    stp     q20, q21, [sp, #624]
    stp     q22, q23, [sp, #656]
    stp     q24, q25, [sp, #688]
    stp     q26, q27, [sp, #720]
    stp     q28, q29, [sp, #752]
    stp     q30, q31, [sp, #784]
    mov     x0, sp
    bl      kernel_exception
    ldp     q0, q1, [sp, #304]
    ldp     q2, q3, [sp, #336]
    ldp     q4, q5, [sp, #368]
    ldp     q6, q7, [sp, #400]
    ldp     q8, q9, [sp, #432]
    ldp     q10, q11, [sp, #464]
    ldp     q12, q13, [sp, #496]
    ldp     q14, q15, [sp, #528]
    ldp     q16, q17, [sp, #560]
    ldp     q18, q19, [sp, #592]
    ldp     q20, q21, [sp, #624]
    ldp     q22, q23, [sp, #656]
    ldp     q24, q25, [sp, #688]
    ldp     q26, q27, [sp, #720]
    ldp     q28, q29, [sp, #752]
    ldp     q30, q31, [sp, #784]
    ldp     x30, x1, [sp, #240]
    msr     elr_el1, x1
    ldr     x2, [sp, #256]
    msr     spsr_el1, x2
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldp     x8, x9, [sp, #64]
    ldp     x10, x11, [sp, #80]
    ldp     x12, x13, [sp, #96]
    ldp     x14, x15, [sp, #112]
    ldp     x16, x17, [sp, #128]
    ldp     x18, x19, [sp, #144]
    ldp     x20, x21, [sp, #160]
    ldp     x22, x23, [sp, #176]
    ldp     x24, x25, [sp, #192]
    ldp     x26, x27, [sp, #208]
    ldp     x28, x29, [sp, #224]
    ldp     x0, x1, [sp]
    add     sp, sp, #FRAME_SIZE
    eret

// What a called function may change (AAPCS64): x0-x18, x30, v0-v7, v16-v31, FPCR, FPSR. x29 is
// kept as well, to link the interrupted program's frames into a back trace. Interrupts stay masked.
irq_common:
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x29, [sp, #144]
    mrs     x0, fpcr
    stp     x30, x0, [sp, #160]
    mrs     x1, fpsr
    str     x1, [sp, #176]
    stp     q0, q1, [sp, #192]
    stp     q2, q3, [sp, #224]
    stp     q4, q5, [sp, #256]
    stp     q6, q7, [sp, #288]
    stp     q16, q17, [sp, #320]
    stp     q18, q19, [sp, #352]
    stp     q20, q21, [sp, #384]
    stp     q22, q23, [sp, #416]
    stp     q24, q25, [sp, #448]
    stp     q26, q27, [sp, #480]
    stp     q28, q29, [sp, #512]
    stp     q30, q31, [sp, #544]
    bl      kernel_irq
    ldp     q0, q1, [sp, #192]
    ldp     q2, q3, [sp, #224]
    ldp     q4, q5, [sp, #256]
    ldp     q6, q7, [sp, #288]
    ldp     q16, q17, [sp, #320]
    ldp     q18, q19, [sp, #352]
    ldp     q20, q21, [sp, #384]
    ldp     q22, q23, [sp, #416]
    ldp     q24, q25, [sp, #448]
    ldp     q26, q27, [sp, #480]
    ldp     q28, q29, [sp, #512]
    ldp     q30, q31, [sp, #544]
    ldr     x1, [sp, #176]
    msr     fpsr, x1
    ldp     x30, x0, [sp, #160]
    msr     fpcr, x0
    ldp     x18, x29, [sp, #144]
    ldp     x16, x17, [sp, #128]
    ldp     x14, x15, [sp, #112]
    ldp     x12, x13, [sp, #96]
    ldp     x10, x11, [sp, #80]
    ldp     x8, x9, [sp, #64]
    ldp     x6, x7, [sp, #48]
    ldp     x4, x5, [sp, #32]
    ldp     x2, x3, [sp, #16]
    ldp     x0, x1, [sp]
    add     sp, sp, #IRQ_FRAME_SIZE
    eret
