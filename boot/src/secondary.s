// A secondary core from the firmware's spin table (armstub8.S) to Rust: at EL2 as the stub leaves it, or at EL1 under a
// hypervisor's spin table; x0 to x3 are 0, MMU and caches are off, so every access goes to memory itself. All that is read
// before MMU_ON is this code, which no one ever stores to once the image runs, and the line of boot_handover, which
// core 0 cleaned. The core's own caches and TLB hold nothing yet: reset invalidates them (Cortex-A72 TRM), and the stub
// runs with caches off. boot_handover: 0 affinity that this core must have, 8 TTBR0_EL1.

.section .text.secondary, "ax"
.global boot_secondary_entry
boot_secondary_entry:
    msr     daifset, #0xf
    mrs     x20, CurrentEL
    lsr     x20, x20, #2
    cmp     x20, #2
    b.eq    1f
    cmp     x20, #1
    b.eq    secondary_at_el1
secondary_halt:
    wfe
    b       secondary_halt
1:  EL2_TO_EL1 secondary_at_el1

secondary_at_el1:
    EL1_BASICS
    ADR_REL x23, boot_handover
    ldr     x24, [x23]
    ldr     x22, [x23, #8]
    mrs     x1, mpidr_el1
    ldr     x2, =0xff00ffffff       // affinities 3 and 2 to 0
    and     x1, x1, x2
    cmp     x1, x24
    b.ne    secondary_halt          // two cores on one stack would be worse than one that never comes
    STACKS  __secondary_stack_top, __secondary_exc_stack_top
    ic      iallu
    dsb     nsh
    isb
    MMU_ON
    bl      boot_secondary_main     // does not return
    b       secondary_halt
.ltorg
