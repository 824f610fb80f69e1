// SPDX-License-Identifier: Apache-2.0
// Generics, a trait and a closure; see truth.h for what it does.
#[repr(C)]
struct Timespec {
    sec: i64,
    nsec: i64,
}

extern "C" {
    fn clock_gettime(id: i32, ts: *mut Timespec) -> i32;
}

const MONOTONIC: i32 = 1;
const PROCESS_CPU: i32 = 2;
const THREAD_CPU: i32 = 3;

#[inline(always)]
fn clock(id: i32) -> u64 {
    let mut ts = Timespec { sec: 0, nsec: 0 };
    unsafe { clock_gettime(id, &mut ts) };
    ts.sec as u64 * 1_000_000_000 + ts.nsec as u64
}

trait Step {
    fn step(&self, x: u64) -> u64;
}

struct Lcg<const A: u64>;

impl<const A: u64> Step for Lcg<A> {
    #[inline(always)]
    fn step(&self, x: u64) -> u64 {
        x.wrapping_mul(A).wrapping_add(1442695040888963407)
    }
}

#[inline(never)]
fn heavy<S: Step>(steps: &S, rounds: u64) -> u64 {
    (0..rounds).fold(rounds, |x, _| steps.step(x))
}

#[inline(never)]
fn light<S: Step>(steps: &S, rounds: u64) -> u64 {
    (0..rounds).fold(rounds, |x, i| steps.step(x) ^ i)
}

// A closure behind a pointer stays a function; so does one that adds something
// to what it calls.
#[inline(never)]
fn middle<T: Into<u64>>(rounds: T, sum: &mut u64, work: &dyn Fn(u64) -> u64) -> u64 {
    let begin = clock(THREAD_CPU);
    *sum ^= work(rounds.into());
    clock(THREAD_CPU) - begin
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let until = (args[1].parse::<f64>().unwrap() * 1e9) as u64;
    let (mut heavy_ns, mut light_ns) = (0u64, 0u64);
    let mut state = clock(MONOTONIC) * 2 + 1;

    if args.len() > 2 {
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
    let mut sum = 0;
    let (a, b) = (Lcg::<6364136223846793005>, Lcg::<2862933555777941757>);
    while heavy_ns + light_ns < until {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let rounds = 130_000 + state % 1_870_000;
        if heavy_ns * 3 <= light_ns * 7 {
            heavy_ns += middle(rounds, &mut sum, &|n| heavy(&a, n) ^ state);
        } else {
            light_ns += middle(rounds, &mut sum, &|n| light(&b, n) ^ state);
        }
    }
    if sum == 1 {
        std::process::exit(1); // nobody may drop the sums
    }
    println!(
        "{{\"pid\": {}, \"heavy_ns\": {}, \"light_ns\": {}, \"cpu_ns\": {}}}",
        std::process::id(),
        heavy_ns,
        light_ns,
        clock(PROCESS_CPU)
    );
}
