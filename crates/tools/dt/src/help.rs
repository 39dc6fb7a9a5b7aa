//! The text of `dt help`.

use std::io::{self, Write};

/// `dt help`.
pub fn help(out: &mut impl Write) -> io::Result<()> {
    out.write_all(
        b"Usage: dt of=FILE|if=FILE [name=value ...] [--layout 2008|26] [--strict]
       dt iomode=copy|verify|mirror if=FILE of=FILE [name=value ...]
       dt workloads
       dt --classic [--size SIZE] [DIRECTORY]
of= writes, then reads and compares; if= reads and compares.

  bs=SIZE|random ibs=SIZE obs=SIZE min=SIZE max=SIZE incr=SIZE|variable align=BYTES|rotate
  limit=SIZE|random min_limit=SIZE max_limit=SIZE records=N passes=N runtime=TIME skip=N seek=N position=OFFSET oposition=OFFSET
  pattern=iot|incr|WORD|TEXT pf=FILE prefix=TEXT dsize=SIZE lba=N iotseed=WORD iotpass=N
  iotype=sequential|random|vary iodir=forward|reverse|vary iomode=test|copy|verify|mirror rseed=N ralign=SIZE rlimit=SIZE
  readp=N randp=N rrandp=N wrandp=N threads=N slices=N slice=N aios=N iops=N workload=NAME
  flags=direct,sync,dsync oflags=trunc dispose=delete|keep|keeponerror
  enable=lbdata,timestamp,btags,unique,fsync,aio,raw,reread,fill_always fill_pattern=WORD disable=compare,verify,pstats,unique
  keepalive=TEXT keepalivet=TIME pkeepalive=TEXT tkeepalive=TEXT noprogt=TIME noprogtt=TIME
  history=N hdsize=N history_bufs=N history_bsize=N enable=htiming,hdump
  stats=full|brief|none errors=N maxbad=N dlimit=N retryDC_delay=TIME retryDC_limit=N trigger=cmd:COMMAND

Numbers: 0x16, 010, suffixes w q b k m g t p d, operators + - * x / % ~ << >> & | ^ from right to left.
What of dt is not done is refused by its name. Exit status: 0, or 255 for any failure.
",
    )
}
