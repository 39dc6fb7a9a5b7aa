//! Simulated devices through the command line: every figure is known beforehand.

use crate::place::Place;

#[test]
fn the_answer_on_a_simulated_device_is_exact() {
    let place = Place::new();
    for (ways, iops) in [(1, 10_000.0), (8, 80_000.0), (32, 320_000.0), (256, 2_560_000.0)] {
        let said = place.say(&["calibrate", &format!("sim:ways={ways},service=100us"), "--json"]).ends(0);
        let record = said.json();
        assert_eq!(record.pointer("/summary/max_iops/value"), Some(&iops.into()), "{ways} ways");
        assert_eq!(record.pointer("/summary/max_iops/load/small"), Some(&ways.into()), "{ways} ways");
        assert_eq!(record.pointer("/summary/latency/value"), Some(&100_000.0.into()), "{ways} ways");
        assert_eq!(record.pointer("/verdict/state"), Some(&"believable".into()), "{ways} ways");
    }
}

#[test]
fn a_mix_has_a_line_of_its_own_and_a_search_that_the_time_ended_says_so() {
    let place = Place::new();
    let words = ["calibrate", "sim:ways=8,service=100us", "--mix", "70/30"];
    let said = place.say(&words).ends(0);
    let shown = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "Random read/write 70/30 8 KiB 80,000 IOPS 80,000 .. 80,000 8 100 us unknown";
    assert!(shown.contains(line), "{}", said.out);
    let said = place.say(&[&words[..], &["--time", "20s"]].concat()).ends(0);
    let told = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("time limit reached before saturation, the maximum may be higher: "), "{told}");
    assert!(told.contains("random writes"), "{told}");
    assert!(!told.contains("--time"), "a simulated device has no use for more time: {told}");
}

#[test]
fn a_simulated_device_that_makes_no_sense_is_refused() {
    let place = Place::new();
    for device in ["sim:banana=1", "sim:service=fast", "sim:ways=-1"] {
        place.say(&["calibrate", device]).refuses(2, &[]);
        place.say(&["run", "--read", "random", device]).refuses(2, &[]);
    }
    place.say(&["calibrate", "sim:ways=1", "sim:ways=2"]).refuses(1, &["measured alone"]);
}
