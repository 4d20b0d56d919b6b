// Reset to Rust. Runs with MMU and caches off wherever the loader put it; uses no stack before
// it has one. Sources of the register values: Linux Documentation/arch/arm64/booting.rst and
// el2_setup.h, U-Boot and Circle agree (Arm ARM for the names). Symbols come from link/pi4.ld.

.macro ADR_REL reg, symbol
    adrp    \reg, \symbol
    add     \reg, \reg, #:lo12:\symbol
.endm

// What every core does alike, so that all of them see one memory. Changed: x1.

// From EL2 to EL1, at \target.
.macro EL2_TO_EL1 target
    mov     x1, #(1 << 31)          // HCR_EL2.RW alone: EL1 is AArch64, nothing is routed to EL2
    msr     hcr_el2, x1             // first: clears E2H, which would rename the registers below
    isb
    mov     x1, #3
    msr     cnthctl_el2, x1         // EL1 may read the physical counter and use its timer
    msr     cntvoff_el2, xzr
    mov     x1, #0x33ff
    msr     cptr_el2, x1            // no trap of FP and SIMD
    msr     hstr_el2, xzr
    msr     vttbr_el2, xzr
    mrs     x1, midr_el1
    msr     vpidr_el2, x1
    mrs     x1, mpidr_el1
    msr     vmpidr_el2, x1
    mrs     x1, pmcr_el0
    ubfx    x1, x1, #11, #5
    msr     mdcr_el2, x1            // EL1 owns all event counters; no debug or PMU trap
    ldr     x1, =0x30d00800         // RES1 bits alone: MMU, caches and alignment check off
    msr     sctlr_el1, x1
    mov     x1, #0x3c4              // EL1t, DAIF masked
    msr     spsr_el2, x1
    adr     x1, \target
    msr     elr_el2, x1
    eret
.endm

// EL1 in a known state.
.macro EL1_BASICS
    ldr     x1, =0x30d00800
    msr     sctlr_el1, x1
    msr     cpacr_el1, xzr
    mov     x1, #(3 << 20)
    msr     cpacr_el1, x1           // FP and SIMD at EL1: compiled code uses them for copies
    isb
.endm

// SP_EL0 for the program, SP_EL1 for exceptions: a full main stack still has a place to report.
.macro STACKS main, exceptions
    msr     spsel, #1
    ADR_REL x1, \exceptions
    mov     sp, x1
    msr     spsel, #0
    ADR_REL x1, \main
    mov     sp, x1
    mov     x29, xzr
    mov     x30, xzr
.endm

// MMU and caches on, with the tables at x22, and the vectors.
.macro MMU_ON
    // Attributes 0 Device-nGnRnE, 1 Normal write-back, 2 Normal non-cacheable (mmu.rs).
    ldr     x1, =0x44ff00
    msr     mair_el1, x1
    // 36-bit physical and virtual space, 4 KiB pages, walks cacheable and inner shareable, no TTBR1.
    ldr     x1, =0x10080351c
    msr     tcr_el1, x1
    msr     ttbr0_el1, x22
    msr     ttbr1_el1, xzr
    isb
    tlbi    vmalle1
    dsb     nsh
    isb
    ADR_REL x1, boot_vectors
    msr     vbar_el1, x1
    ldr     x1, =0x30d0181d         // RES1 + M, C, I and the stack alignment checks
    msr     sctlr_el1, x1
    isb
.endm

.section .text.boot, "ax"
.global _start
_start:
    // arm64 Image header (Linux booting.rst, U-Boot arch/arm/lib/image.c)
    b       entry                   // code0
    .long   0                       // code1
    .quad   0                       // text_offset
    .quad   __image_size            // with .bss, stacks and DMA buffers; 0 would mean "old kernel"
    .quad   0xa                     // little endian, 4 KiB pages, any 2 MiB-aligned place
    .quad   0
    .quad   0
    .quad   0
    .long   0x644d5241              // "ARM" 0x64
    .long   0

entry:
    msr     daifset, #0xf
    mov     x19, x0                 // device tree
    mrs     x20, CurrentEL
    lsr     x20, x20, #2            // exception level we were entered at
    mrs     x1, mpidr_el1
    ands    x1, x1, #0xff
    b.ne    park
    cmp     x20, #2
    b.eq    from_el2
    cmp     x20, #1
    b.eq    at_el1
halt:                               // EL3 or EL0: not a state any loader we know leaves
    wfe
    b       halt

// A core other than 0 waits as the firmware's stub lets it wait: on its word of the spin table
// at 0xd8 + 8 * core, which whoever wants it fills with an address (armstub8.S, Linux
// smp_spin_table.c).
park:
    mov     x2, #0xd8
    add     x2, x2, x1, lsl #3
1:  wfe
    ldr     x3, [x2]
    cbz     x3, 1b
    mov     x0, xzr
    mov     x1, xzr
    mov     x2, xzr
    br      x3

from_el2:
    EL2_TO_EL1 at_el1

at_el1:
    EL1_BASICS

    // Where do we run? Page rights need a page-aligned place; anything else is a loader error
    // that no console exists for yet.
    adr     x21, _start
    tst     x21, #0xfff
    b.ne    halt

    // Relocate: every entry is R_AARCH64_RELATIVE (the image builder refuses others).
    ADR_REL x1, __rela_start
    ADR_REL x2, __rela_end
1:  cmp     x1, x2
    b.hs    2f
    ldp     x3, x4, [x1], #16       // r_offset, r_info
    ldr     x5, [x1], #8            // r_addend
    add     x5, x5, x21
    str     x5, [x21, x3]
    b       1b
2:
    ADR_REL x1, __bss_start
    ADR_REL x2, __bss_end
1:  cmp     x1, x2
    b.hs    2f
    stp     xzr, xzr, [x1], #16
    b       1b
2:
    STACKS  __stack_top, __exc_stack_top

    mov     x0, x21
    bl      boot_build_page_tables  // Rust, MMU still off; returns the value for TTBR0_EL1
    mov     x22, x0

    // What was written above went past the caches. A line that they hold from before (clean, the
    // loader's) would hide it once they are on: drop every line of the image's memory.
    mrs     x1, ctr_el0
    ubfx    x1, x1, #16, #4
    mov     x2, #4
    lsl     x2, x2, x1              // smallest data cache line, bytes
    mov     x1, x21
    ADR_REL x3, __image_end
    dsb     sy
1:  dc      ivac, x1
    add     x1, x1, x2
    cmp     x1, x3
    b.lo    1b
    ic      iallu
    dsb     sy
    isb

    MMU_ON

    mov     x0, x19
    mov     x1, x20
    mov     x2, x21
    bl      kernel_main             // does not return
    b       halt
.ltorg
