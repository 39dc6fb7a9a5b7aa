//! CRC-32 as Ethernet, gzip and zlib have it: reflected polynomial 0xEDB88320, eight bytes a step (Kounavis and Berry
//! 2005).

const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xEDB8_8320 } else { value >> 1 };
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// The CRC-32 of some bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    let mut steps = bytes.chunks_exact(8);
    for step in &mut steps {
        let low = crc ^ u32::from_le_bytes([step[0], step[1], step[2], step[3]]);
        crc = TABLES[7][(low & 0xFF) as usize]
            ^ TABLES[6][(low >> 8 & 0xFF) as usize]
            ^ TABLES[5][(low >> 16 & 0xFF) as usize]
            ^ TABLES[4][(low >> 24) as usize]
            ^ TABLES[3][step[4] as usize]
            ^ TABLES[2][step[5] as usize]
            ^ TABLES[1][step[6] as usize]
            ^ TABLES[0][step[7] as usize];
    }
    for byte in steps.remainder() {
        crc = crc >> 8 ^ TABLES[0][((crc ^ u32::from(*byte)) & 0xFF) as usize];
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue_comes_out() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(&[0; 16_372]), 0x6633_7A37, "what sysbench says of a block of zeros");
    }
}
