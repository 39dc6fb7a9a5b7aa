//! What `-h` and `-v` print, in fathom's words.

/// What `-v` prints, and the version whose behaviour this is.
pub const VERSION: &str = "ioping 1.3\n";

/// What `-h` prints; it also follows the message about an option that does not exist.
pub const USAGE: &str = " Usage: ioping [options...] directory|file|device
        ioping -h | -v

 how requests are made:
      -A, -async                 through Linux AIO instead of one system call
      -C, -cached                leave the page cache alone, before and after
      -D, -direct                past the page cache (O_DIRECT)
      -G, -read-write            a write, then a read, in turn
      -L, -linear                one block behind the other, 256k each
      -N, -nowait                fail rather than wait (RWF_NOWAIT)
      -H, -hipri                 poll for completion (RWF_HIPRI)
      -W, -write                 write; three times for what is not a directory
      -Y, -sync                  each write durable with its metadata (O_SYNC)
      -y, -dsync                 each write durable (O_DSYNC)
      -R, -rapid                 3s without pauses, in 64m, statistics only
      -k, -keep                  use ioping.tmp in the directory, and leave it

 how many, how large, how often:
      -a, -warmup <count>        first requests that do not count (1)
      -b, -burst <count>         requests between two pauses (0: one)
      -c, -count <count>         end after so many requests (0: never)
      -e, -entropy <seed>        seed of the offsets (0: another each time)
      -i, -interval <time>       from one request's start to the next (1s)
      -s, -size <size>           bytes of a request (4k)
      -S, -work-size <size>      bytes among which offsets lie (1m, or all)
      -o, -work-offset <size>    where these bytes begin (0)
      -w, -work-time <time>      begin no request after this (0: no limit)
      -l, -speed-limit <size>    at most so many bytes a second
      -r, -rate-limit <count>    at most so many requests a second
      -t, -min-time <time>       faster requests do not count (0)
      -T, -max-time <time>       slower requests do not count

 what is printed:
      -B, -batch                 one raw line at the end
      -I, -time [format]         the time of day before each request
      -J, -json                  JSON
      -p, -print-count <count>   a raw line for every so many requests
      -P, -print-interval <time> a raw line for every so long
      -q, -quiet                 no line for each request
      -h, -help                  this
      -v, -version               the version

 sizes end in sector, k, page, m, g, t; times in ns, us, ms, s, m, h;
 counts in k, m, g, t.

";
