# shellcheck shell=bash
# shellcheck disable=SC2154  # here is set by scripts/lab, folder and page by the book
# What the bare disk gives, and whether fathom finds a limit that we set.

bare() {
    local path=. seconds=2 only='' what folder
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || die_usage "$1 takes a value"
        case $1 in
            --path) path=$2 ;;
            --seconds) whole_number "$1" "$2" && seconds=$2 ;;
            --only) only=$2 ;;
            *) die_usage "lab bare does not know $1" ;;
        esac
        shift 2
    done
    [[ $only =~ ^(|read_iops|read_bps|write_iops)$ ]] || die_usage "--only takes read_iops, read_bps or write_iops"
    need_program fio jq
    [ -d "$path" ] || die "no folder $path"
    folder=$(mktemp -d "$path/fathom-lab-bare-XXXXXX")
    # shellcheck disable=SC2064  # the folder's name as it is now
    trap "rm -rf -- '$folder'" EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    fill_with_noise "$folder/bare" $((256 * 1024 * 1024))
    for what in read_iops read_bps write_iops; do
        [ -z "$only" ] || [ "$only" = $what ] || continue
        echo "$what=$(bare_figure "$folder/bare" $what "$seconds")"
    done
}

bare_figure() { # file what seconds
    local load take
    case $2 in
        read_iops) load='--rw=randread --bs=8k --iodepth=32' take='.jobs[0].read.iops' ;;
        read_bps) load='--rw=randread --bs=1m --iodepth=8' take='.jobs[0].read.bw_bytes' ;;
        write_iops) load='--rw=randwrite --bs=8k --iodepth=32' take='.jobs[0].write.iops' ;;
    esac
    # shellcheck disable=SC2086  # several words
    fio --name=bare --filename="$1" --direct=1 --ioengine=libaio $load --time_based --runtime="$3" \
        --randrepeat=0 --output-format=json | jq "$take | floor"
}

# ---- the table ------------------------------------------------------------------------------------------------------

truth() {
    local path=. fathom='' seconds=60s quick=no more='' only='' row wrong=0 skipped=0 rows
    while [ $# -gt 0 ]; do
        case $1 in
            --quick) quick=yes && seconds=20s && shift && continue ;;
            --*) [ $# -ge 2 ] || die_usage "$1 takes a value" ;;
        esac
        case $1 in
            --path) path=$2 ;;
            --fathom) fathom=$2 ;;
            --time) seconds=$2 ;;
            --args) more=$2 ;;
            --only) only=$2 ;;
            *) die_usage "lab truth does not know $1" ;;
        esac
        shift 2
    done
    need_root
    need_program fio jq
    fathom=${fathom:-$here/../target/release/fathom}
    [ -x "$fathom" ] || die "no program $fathom" "cargo build --release -p fathom-cli"
    rows='read_iops:500 read_iops:5000 read_iops:20000 read_bps:52428800 read_bps:209715200 write_iops:1000 write_iops:5000'
    [ $quick = no ] || rows='read_iops:500 read_iops:5000 read_bps:52428800 write_iops:1000'
    rows=${only:-$rows}
    for row in $rows; do
        [[ $row =~ ^(read_iops|read_bps|write_iops):[0-9]+$ ]] ||
            die_usage "--only takes limits such as read_iops:500 'write_iops:1000 read_bps:52428800'"
    done

    echo '| limit on the disk | limit | figure | measured | ratio | within | verdict | |'
    echo '|---|---|---|---|---|---|---|---|'
    for row in $rows; do
        truth_row "${row%%:*}" "${row##*:}" || case $? in
            3) skipped=$((skipped + 1)) ;;
            *) wrong=$((wrong + 1)) ;;
        esac
    done
    echo
    echo "$wrong wrong, $skipped skipped"
    [ $wrong -eq 0 ]
}

# One limit: the bare disk first, then a calibration under the limit. 0 right, 1 wrong, 3 skipped.
truth_row() { # what limit
    local record only_reads='' status=0
    if ! bare_gives_enough "$1" "$2"; then
        echo "| $1 | $2 | | | | | skipped: the bare disk gives less than 1.5 x the limit | |"
        echo "skipped: truth of $1 $2 (a noisy machine: the bare disk gave less than 1.5 x the limit at three tries)" >&2
        return 3
    fi
    record=$(mktemp)
    # Under a limit on reads the writes are the bare disk's, and their drift is no matter of the limit.
    [[ $1 == read_* ]] && only_reads=--read-only
    # The verdict's exit status 3 is part of the answer; others are failures of the run.
    # shellcheck disable=SC2086  # several words
    "$here/lab" throttle "--${1/_/-}" "$2" --path "$path" -- \
        "$fathom" calibrate "$path" --json --time "$seconds" --no-progress $only_reads $more >"$record" || status=$?
    if [ $status -ne 0 ] && [ $status -ne 3 ]; then
        rm -f "$record"
        echo "| $1 | $2 | | failed with status $status | | | | wrong |"
        return 1
    fi
    status=0
    case $1 in
        read_iops) truth_figure "$1" "$2" max_iops 2 "$record" || status=1 ;;
        read_bps) truth_figure "$1" "$2" max_mbps 2 "$record" || status=1 ;;
        write_iops)
            truth_figure "$1" "$2" random_write_iops 2 "$record" || status=1
            truth_figure "$1" "$2" commits_per_second 5 "$record" || status=1
            ;;
    esac
    rm -f "$record"
    return $status
}

bare_gives_enough() { # what limit
    local try given
    for try in 1 2 3; do
        given=$("$here/lab" bare --path "$path" --seconds 2 --only "$1" | cut -d= -f2)
        echo "bare $1=$given, limit $2 (try $try)" >&2
        [ $((given * 2)) -lt $(($2 * 3)) ] || return 0
    done
    return 1
}

# Prints a line of the table. 0 if the figure is within the tolerance and believed.
truth_figure() { # what limit figure percent record
    local measured verdict expected=$2 name=$3
    verdict=$(field_of "$5" .verdict.state)
    measured=$(field_of "$5" ".summary.$3.value")
    case $3 in
        max_mbps) expected=$(calc "$2 / 1048576") ;;
        commits_per_second)
            local writes
            writes=$(field_of "$5" .summary.device_writes_per_commit.value)
            expected=$(calc "$2 / $writes")
            name="$3 ($(printf %.2f "$writes") device writes each)"
            ;;
    esac
    awk -v what="$1" -v limit="$2" -v name="$name" -v measured="$measured" -v expected="$expected" \
        -v percent="$4" -v verdict="$verdict" 'BEGIN {
            ratio = (expected > 0) ? measured / expected : 0
            right = ratio >= 1 - percent / 100 && ratio <= 1 + percent / 100 && verdict == "believable"
            printf "| %s | %s | %s | %.1f of %.1f | %.4f | %s %% | %s | %s |\n",
                what, limit, name, measured, expected, ratio, percent, verdict, right ? "right" : "wrong"
            exit !right
        }'
}

calc() { awk "BEGIN { if ($1 > 0) printf \"%.6f\", $1; else print 0 }" 2>/dev/null || echo 0; }

# The only place that knows the record's shape: the value at a path of `fathom calibrate --json`, 0 or "none" if absent.
field_of() { # file path
    jq -r "$2 // 0" "$1"
}
