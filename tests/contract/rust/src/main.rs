// SPDX-License-Identifier: BSL-1.0
//! Answers the questions of ../check.py.

mod placement;
use placement::{bucket_of, slot_of};

fn bytes_of(digits: &str) -> Vec<u8> {
    let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two hexadecimal digits");
    (0..digits.len()).step_by(2).map(pair).collect()
}

fn main() {
    for line in std::io::stdin().lines().map(|line| line.expect("text")) {
        let words: Vec<&str> = line.split(' ').collect();
        let bytes = bytes_of(&words[1][1..]);
        let count = words[2].parse().expect("a count");
        let answer = match words[0] {
            "bucket" => bucket_of(&bytes, count, words[3].parse().expect("a seed")),
            _ => slot_of(&bytes, count),
        };
        println!("{answer}");
    }
}
