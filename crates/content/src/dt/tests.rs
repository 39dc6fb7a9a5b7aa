//! Blocks of dt, and what is said of harm done to them.

use super::*;
use fathom_spec::BlockTag;

fn iot(pass: u32) -> DataTest {
    DataTest {
        pattern: TestPattern::Iot { seed: 0x0101_0101, pass },
        block_bytes: 512,
        prefix: Vec::new(),
        numbered: false,
        time: None,
        start: None,
        tag: None,
        words: Vec::new(),
    }
}

fn words(pass: usize) -> DataTest {
    let words = vec![0x39c3_9c39u32, 0x00ff_00ff, 0x0f0f_0f0f];
    let bytes = words[pass - 1].to_le_bytes().to_vec();
    DataTest { pattern: TestPattern::Bytes(bytes), words, ..iot(1) }
}

fn tagged(pass: u32) -> DataTest {
    let tag = BlockTag {
        inode: 4711,
        file: true,
        host: "host".to_owned(),
        pattern_kind: 1,
        generation: pass,
        ..BlockTag::default()
    };
    DataTest { tag: Some(Box::new(tag)), ..iot(pass) }
}

fn made(format: &DataTest, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fill(format, &mut bytes, offset);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn iot_blocks_are_those_of_dt() {
    assert_eq!(hex(&made(&iot(1), 512, 512)[..12]), "010000000201010103020202");
    assert_eq!(hex(&made(&iot(3), 512, 512)[..12]), "010000000403030307060606");
    assert_eq!(hex(&made(&iot(1), 0, 1024)[512..520]), "0100000002010101");
}

#[test]
fn words_numbers_and_prefixes_stand_where_dt_puts_them() {
    assert_eq!(hex(&made(&words(1), 0, 512)[..8]), "399cc339399cc339");
    let numbered = DataTest { numbered: true, ..words(1) };
    assert_eq!(hex(&made(&numbered, 0x1_0203 * 512, 512)[..8]), "00010203399cc339");
    let prefixed = DataTest { prefix: b"f@host\0\0".to_vec(), ..iot(1) };
    assert_eq!(hex(&made(&prefixed, 1024, 512)[..16]), format!("{}0200000003010101", hex(b"f@host\0\0")));
    let both = DataTest { prefix: b"f@host\0\0".to_vec(), ..numbered };
    assert_eq!(hex(&made(&both, 1024, 512)[8..16]), "00000002399cc339");
}

#[test]
fn a_tag_has_its_fields_at_their_bytes_and_its_sum_covers_the_block() {
    let block = made(&tagged(2), 8192, 512);
    assert_eq!(hex(&block[..16]), "00200000000000006712000000000000");
    assert_eq!((&block[52..56], hex(&block[76..84])), (&b"host"[..], "eeafdcba01010100".to_owned()));
    assert_eq!(
        (u32::from_le_bytes(block[100..104].try_into().unwrap()), block[116..120].to_vec()),
        (2, vec![0, 2, 0, 0])
    );
    assert!(tag::sound(&block));
    assert_eq!(hex(&block[152..160]), "1000000012020202");
    let mut hurt = block;
    hurt[300] ^= 1;
    assert!(!tag::sound(&hurt));
}

/// What is said of a record of four blocks at block 8 after some harm.
fn said(format: &DataTest, harm: impl Fn(&mut Vec<u8>)) -> Option<Wrong> {
    let mut bytes = made(format, 4096, 2048);
    harm(&mut bytes);
    check(format, &bytes, 4096, &mut Vec::new())
}

fn damage(format: &DataTest, harm: impl Fn(&mut Vec<u8>)) -> Damage {
    said(format, harm).expect("harm is seen").damage
}

#[test]
fn sound_records_pass() {
    for format in [iot(1), iot(7), words(2), tagged(3), DataTest { numbered: true, ..words(1) }] {
        assert_eq!(said(&format, |_| {}), None);
    }
    let timed = DataTest { time: Some(7), ..words(1) };
    assert_eq!(said(&timed, |bytes| bytes[512..516].copy_from_slice(&[1, 2, 3, 4])), None);
}

#[test]
fn zeroed_flipped_swapped_stale_and_torn_blocks_are_told_apart() {
    for format in [iot(3), tagged(3), DataTest { numbered: true, ..iot(3) }] {
        assert_eq!(damage(&format, |bytes| bytes[512..1024].fill(0)), Damage::Zeroed);
        let swapped = damage(&format, |bytes| {
            let (a, b) = bytes.split_at_mut(1024);
            a[512..].swap_with_slice(&mut b[..512]);
        });
        assert_eq!(swapped, Damage::Misdirected);
    }
    let older = |mut format: DataTest| {
        format.pattern = TestPattern::Iot { seed: 0x0101_0101, pass: 2 };
        if let Some(tag) = &mut format.tag {
            tag.generation = 2;
        }
        made(&format, 4096, 2048)
    };
    for format in [iot(3), tagged(3)] {
        let before = older(format.clone());
        assert_eq!(damage(&format, |bytes| *bytes = before.clone()), Damage::Stale);
        assert_eq!(
            damage(&format, |bytes| bytes[768..1024].copy_from_slice(&before[768..1024])),
            Damage::Torn
        );
    }
    assert_eq!(damage(&iot(3), |bytes| bytes[700] ^= 8), Damage::Corrupt);
    assert_eq!(damage(&iot(3), |bytes| bytes[640..1024].fill(0)), Damage::Torn);
}

#[test]
fn the_story_names_blocks_and_passes() {
    let before = made(&iot(2), 4096, 2048);
    let wrong = said(&iot(3), |bytes| bytes[1024..1536].copy_from_slice(&before[1024..1536])).unwrap();
    assert_eq!((wrong.offset, wrong.length), (5120, 512));
    assert_eq!(wrong.note, "it is this block as it was written before of pass 2, not of pass 3");
    let other = made(&iot(3), 512, 512);
    let wrong = said(&iot(3), |bytes| bytes[..512].copy_from_slice(&other)).unwrap();
    assert_eq!(wrong.note, "it is block 1, and should be block 8");
    let wrong = said(&iot(3), |bytes| bytes[3] ^= 1).unwrap();
    assert_eq!(wrong.note, "1 bytes differ (1 bits), from byte 3 of the block to byte 3");
    let wrong = said(&words(2), |bytes| bytes.copy_from_slice(&made(&words(1), 4096, 2048))).unwrap();
    assert_eq!((wrong.damage, wrong.length), (Damage::Stale, 2048));
    assert!(wrong.note.contains("of pass 1, not of pass 2"), "{}", wrong.note);
}

/// The same tags as somebody else wrote them at another time.
fn of_another_writer(format: &DataTest) -> DataTest {
    let mut other = format.clone();
    if let Some(tag) = &mut other.tag {
        (tag.write_start, tag.process, tag.thread) = (1_700_000_000, 99, 3);
    }
    other
}

#[test]
fn tags_that_another_process_wrote_tell_the_block_that_is_damaged_and_how() {
    let mut reader = tagged(1);
    if let Some(tag) = &mut reader.tag {
        tag.any_writer = true;
    }
    let written = made(&of_another_writer(&reader), 4096, 2048);
    assert_eq!(check(&reader, &written, 4096, &mut Vec::new()), None);
    // In the pattern: the tag tells that the rest is sound.
    let mut bytes = written.clone();
    bytes[1024 + 300] ^= 4;
    let wrong = check(&reader, &bytes, 4096, &mut Vec::new()).unwrap();
    assert_eq!((wrong.damage, wrong.offset, wrong.length), (Damage::Corrupt, 5120, 512));
    assert_eq!(wrong.note, "1 bytes differ (1 bits), from byte 300 of the block to byte 300");
    let mut told = Vec::new();
    expect(&reader, &bytes, 4096, &mut told);
    assert_eq!(told, written, "what should be there is what was written");
    // In the tag.
    let mut bytes = written.clone();
    bytes[512 + 120] ^= 4;
    let wrong = check(&reader, &bytes, 4096, &mut Vec::new()).unwrap();
    assert_eq!((wrong.damage, wrong.offset, wrong.length), (Damage::Corrupt, 4608, 512));
    assert!(wrong.note.contains("from byte 120 of the block"), "{}", wrong.note);
}

#[test]
fn each_kind_of_damage_in_a_record_is_told_with_its_blocks() {
    let (format, older) = (iot(3), iot(2));
    let mut bytes = made(&format, 0, 8 * 512);
    bytes[512..1536].copy_from_slice(&made(&older, 512, 1024));
    bytes[2048..2560].fill(0);
    let other = made(&format, 16_384, 512);
    bytes[2560..3072].copy_from_slice(&other);
    bytes[3600] ^= 1;
    let all = check_blocks(&format, &bytes, 0);
    let found: Vec<_> = all.iter().map(|wrong| (wrong.damage, wrong.offset, wrong.length)).collect();
    assert_eq!(
        found,
        [
            (Damage::Stale, 512, 1024),
            (Damage::Zeroed, 2048, 512),
            (Damage::Misdirected, 2560, 512),
            (Damage::Corrupt, 3584, 512),
        ]
    );
}

#[test]
fn a_text_goes_on_from_block_to_block_past_prefixes() {
    let text = |start: Option<u64>, prefix: &[u8]| DataTest {
        pattern: TestPattern::Bytes(b"abcdefg".to_vec()),
        prefix: prefix.to_vec(),
        start,
        ..iot(1)
    };
    let whole: Vec<u8> = b"abcdefg".iter().copied().cycle().take(2048).collect();
    assert_eq!(made(&text(Some(512), b""), 512, 2048), whole);
    // A record by itself has the same bytes, and anew in each block where no start is said.
    assert_eq!(made(&text(Some(512), b""), 1536, 512), whole[1024..1536]);
    assert_eq!(made(&text(None, b""), 1536, 512), whole[..512]);
    let prefixed = text(Some(0), b"x\0\0\0");
    assert_eq!(made(&prefixed, 1024, 512)[4..], whole[2 * 508..3 * 508]);
    let bytes = made(&prefixed, 0, 2048);
    assert_eq!(check(&prefixed, &bytes, 0, &mut Vec::new()), None);
}
