//! Device trees: blobs as they are, and trees that are built well and filled badly.
//!
//! An input that begins with the magic number is a blob. Any other is a list of choices from which a tree is built.

use arbitrary::Unstructured;
use kernel::board::tree::{BoardTree, MAX_BANKS};

const MAGIC: u32 = 0xd00d_feed;

/// Reads `input`, or the tree that it describes.
pub fn check(input: &[u8]) {
    if input.starts_with(&MAGIC.to_be_bytes()) {
        read(input);
        // Most damage is to what the blob says of its own length; what lies behind that is worth reading too.
        if input.len() >= 8 {
            let mut blob = input.to_vec();
            blob[4..8].copy_from_slice(&(input.len() as u32).to_be_bytes());
            read(&blob);
        }
    } else if let Ok(blob) = Builder::default().build(&mut Unstructured::new(input)) {
        read(&blob);
    }
}

/// What is found lies in the blob and within bounds.
fn read(blob: &[u8]) {
    let Some(tree) = BoardTree::parse(blob) else { return };
    let within = blob.as_ptr_range();
    for text in [tree.model, tree.bootargs] {
        let borrowed = within.contains(&text.as_ptr()) || text.is_empty() || text == "unknown model";
        assert!(borrowed, "{text:?}");
        assert!(text.len() < blob.len() && !text.contains('\0'), "{text:?}");
    }
    assert_ne!(tree.mac, Some([0; 6]));
    assert!(tree.bank_count <= MAX_BANKS && tree.banks().len() == tree.bank_count);
    assert!(tree.banks().iter().all(|bank| bank.bytes > 0));
    let largest = tree.banks().iter().map(|bank| bank.bytes).max().unwrap_or(0);
    assert!(tree.memory_mib() >= largest >> 20);
    assert!(["virtual", "uboot", "net", "sd"].contains(&tree.boot.word()));
    let (plan, problems) = netbench::plan::parse(tree.bootargs);
    assert_eq!(plan.problems as usize, problems.len());
}

/// Names with a meaning to us or to the parser, one too long for the specification, one that is none.
const NODES: [&str; 8] = [
    "chosen",
    "bootloader",
    "memory@0",
    "scb",
    "ethernet@7d580000",
    "soc",
    "an_extremely_long_name_of_a_node@1",
    "\u{1}",
];
const PROPERTIES: [&str; 12] = [
    "model",
    "compatible",
    "bootargs",
    "reg",
    "device_type",
    "local-mac-address",
    "#address-cells",
    "#size-cells",
    "boot-mode",
    "u-boot,version",
    "genetbench,virtual",
    "arm,cpu-registers-not-fw-configured",
];

/// A tree in the flattened format (Devicetree Specification 0.4, chapter 5).
#[derive(Default)]
struct Builder {
    structure: Vec<u8>,
    strings: Vec<u8>,
}

impl Builder {
    fn build(mut self, u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
        self.node(u, "", 0)?;
        self.word(9);
        let struct_offset = 40 + 16;
        let strings_offset = struct_offset + self.structure.len();
        let total = strings_offset + self.strings.len();
        let header = [
            MAGIC as usize,
            total,
            struct_offset,
            strings_offset,
            40,
            17,
            16,
            0,
            self.strings.len(),
            self.structure.len(),
        ];
        let mut blob: Vec<u8> = header.iter().flat_map(|word| (*word as u32).to_be_bytes()).collect();
        blob.extend([0; 16]);
        blob.extend(self.structure);
        blob.extend(self.strings);
        // A few words may be wrong.
        for _ in 0..u.int_in_range(0..=2)? {
            let at = u.choose_index(blob.len() / 4)? * 4;
            let word: u32 = u.arbitrary()?;
            blob[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        Ok(blob)
    }

    fn node(&mut self, u: &mut Unstructured<'_>, name: &str, depth: u32) -> arbitrary::Result<()> {
        self.word(1);
        self.bytes(&[name.as_bytes(), &[0]].concat());
        for _ in 0..u.int_in_range(0..=6)? {
            let name = *u.choose(&PROPERTIES)?;
            let value: Vec<u8> = match u.int_in_range(0..=5)? {
                0 => b"memory\0".to_vec(),
                1 => b"brcm,bcm2711-genet-v5\0".to_vec(),
                2 => u.int_in_range(0..=5u32)?.to_be_bytes().to_vec(),
                3 => (0..u.int_in_range(0..=8)?).flat_map(|i: u32| (i << 28).to_be_bytes()).collect(),
                _ => u.arbitrary::<&[u8]>()?.to_vec(),
            };
            let name_offset = self.string(name);
            self.word(3);
            self.word(value.len() as u32);
            self.word(name_offset);
            self.bytes(&value);
        }
        if depth < 12 {
            for _ in 0..u.int_in_range(0..=3)? {
                let name = *u.choose(&NODES)?;
                self.node(u, name, depth + 1)?;
            }
        }
        self.word(2);
        Ok(())
    }

    fn string(&mut self, name: &str) -> u32 {
        let offset = self.strings.len() as u32;
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        offset
    }

    fn word(&mut self, word: u32) {
        self.structure.extend(word.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.structure.extend_from_slice(bytes);
        self.structure.resize(self.structure.len().next_multiple_of(4), 0);
    }
}
