//! Bytes over time as an SVG: the step's blocks by operation, over what was allocated before.

use std::fmt::Write as _;

use super::replay::Replay;
use super::scale::{self, bytes, duration};
use super::series::{self, OTHER, Series};
use crate::native::memory::MemoryEvent;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 80.0;
/// Height of the step's blocks and of the bands below them together.
const HEIGHT: f64 = 320.0;
/// The memory from before the step is drawn to scale if it takes at most this share of the height.
const LOW: f64 = 0.5;
/// The height of a band that is not drawn to scale.
const BAND: f64 = 22.0;
/// Longer names are cut; the tooltip has the whole name.
const LONGEST_NAME: usize = 48;
const LONGEST_TITLE: usize = 100;

/// Colours that are distinct on light and dark backgrounds, and for most colour-blind readers.
const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1f24;--faint:#57606a;--line:#d0d7de}\n\
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--ink:#e6edf3;--faint:#9198a1;--line:#30363d}}\n\
text{font:12px system-ui,sans-serif;fill:var(--ink)}\n\
.title{font-size:15px;font-weight:600}.faint{fill:var(--faint)}.end{text-anchor:end}.middle{text-anchor:middle}\n\
.ground{fill:var(--ground)}.grid{stroke:var(--line)}.axis{stroke:var(--faint)}\n\
.peak{stroke:var(--ink);stroke-dasharray:3 3;fill:none}.dot{fill:var(--ink)}.halo{paint-order:stroke;\
stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}\n\
.s0{fill:#4e79a7}.s1{fill:#f28e2b}.s2{fill:#59a14f}.s3{fill:#e15759}.s4{fill:#b07aa1}.s5{fill:#76b7b2}\
.s6{fill:#edc948}.s7{fill:#9c755f}.other{fill:#8c959f}\n\
.before{fill:#afb8c1;fill-opacity:.55;stroke:var(--ground)}";

/// Draws the picture. `constant` is the memory allocated before the step, the lowest band first.
pub fn draw(title: &str, constant: &[(&str, u64)], events: &[MemoryEvent]) -> String {
    let replay = Replay::from_events(events);
    let constant: Vec<_> = constant.iter().copied().filter(|(_, bytes)| *bytes > 0).collect();
    let frame = Frame::new(&constant, &replay);
    let series = series::from_replay(&replay, frame.width().ceil() as usize);
    let mut body = String::new();
    frame.write_axes(&mut body);
    for (place, one) in series.iter().enumerate().rev() {
        frame.write_area(&mut body, one, &class(one, place));
    }
    frame.write_bands(&mut body, &constant);
    frame.write_peak(&mut body, &constant, &replay);
    let bottom = frame.write_legend(&mut body, &series);
    let mut text = String::new();
    let height = bottom + 16.0;
    let whole = escaped(title);
    put(
        &mut text,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>Memory over time: \
             {whole}</title>\n<style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" \
             height=\"{height}\"/>\n<text class=\"title\" x=\"16\" y=\"26\">{}</text>\n<text \
             class=\"faint\" x=\"16\" y=\"46\">Activations: bytes that \
             the step allocates, by operation; the legend has the most of each at once</text>",
            escaped(&cut(title, LONGEST_TITLE)),
        ),
    );
    text + &body + "</svg>\n"
}

/// Converts bytes and times to positions in the picture.
struct Frame {
    /// The y of zero bytes; the memory from before the step lies below it.
    zero: f64,
    /// The height of a byte.
    per_byte: f64,
    /// Whether the bands below are drawn to scale.
    to_scale: bool,
    /// The width of a nanosecond.
    per_ns: f64,
    most: u64,
    end_ns: u64,
}

impl Frame {
    fn new(constant: &[(&str, u64)], replay: &Replay) -> Self {
        let below: u64 = constant.iter().map(|(_, bytes)| bytes).sum();
        let most = replay.peak_bytes.max(1);
        let share = below as f64 / (below + most) as f64;
        let to_scale = share <= LOW;
        let depth = if to_scale { share * HEIGHT } else { BAND * constant.len() as f64 };
        // The last event ends the picture; a single event at the beginning still needs a width.
        let end_ns = replay.moments.last().map_or(1, |moment| moment.ns).max(1);
        Self {
            zero: TOP + HEIGHT - depth,
            per_byte: (HEIGHT - depth) / most as f64,
            to_scale,
            per_ns: (WIDTH - LEFT - RIGHT) / end_ns as f64,
            most,
            end_ns,
        }
    }

    fn width(&self) -> f64 {
        WIDTH - LEFT - RIGHT
    }

    fn x(&self, ns: u64) -> f64 {
        LEFT + ns as f64 * self.per_ns
    }

    fn y(&self, bytes: u64) -> f64 {
        self.zero - bytes as f64 * self.per_byte
    }

    fn write_axes(&self, body: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, TOP + HEIGHT);
        for tick in scale::byte_ticks(self.most) {
            let (y, label) = (self.y(tick), bytes(tick));
            put(
                body,
                format_args!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" \
                     y2=\"{y:.1}\"/>\n<text class=\"faint end\" x=\"{}\" y=\"{:.1}\">{label}</text>",
                    LEFT - 8.0,
                    y + 4.0,
                ),
            );
        }
        for tick in scale::time_ticks(self.end_ns) {
            let (x, label) = (self.x(tick), duration(tick));
            put(
                body,
                format_args!(
                    "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" \
                     y2=\"{}\"/>\n<text class=\"faint middle\" x=\"{x:.1}\" y=\"{}\">{label}</text>",
                    bottom + 5.0,
                    bottom + 18.0,
                ),
            );
        }
        put(
            body,
            format_args!(
                "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\n\
                 <text class=\"faint middle\" x=\"{}\" y=\"{}\">time since the step began</text>",
                LEFT + self.width() / 2.0,
                bottom + 36.0,
            ),
        );
    }

    /// Fills from the upper edge down to zero; the areas below are drawn over it afterwards.
    fn write_area(&self, body: &mut String, series: &Series, class: &str) {
        let Some((begin, _)) = series.edge.first() else { return };
        let mut path = format!("M{:.1},{:.1}", self.x(*begin), self.zero);
        let mut last = format!("V{:.1}", self.zero);
        for (ns, bytes) in &series.edge {
            let step = format!("V{:.1}", self.y(*bytes));
            if step != last {
                path += &format!("H{:.1}{step}", self.x(*ns));
                last = step;
            }
        }
        let name = escaped(&series.name);
        put(
            body,
            format_args!(
                "<path class=\"{class}\" d=\"{path}H{:.1}V{:.1}Z\"><title>{name}: at most \
                 {}</title></path>",
                self.x(self.end_ns),
                self.zero,
                bytes(series.most),
            ),
        );
    }

    fn write_bands(&self, body: &mut String, constant: &[(&str, u64)]) {
        let mut y = TOP + HEIGHT;
        for (name, held) in constant {
            let height = if self.to_scale { *held as f64 * self.per_byte } else { BAND };
            y -= height;
            let note = if self.to_scale { "" } else { " (not to scale)" };
            let label = format!("{} {}{note}", escaped(name), bytes(*held));
            put(
                body,
                format_args!(
                    "<rect class=\"before\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{}\" \
                     height=\"{height:.1}\"><title>{label}</title></rect>",
                    self.width(),
                ),
            );
            if height >= 14.0 {
                put(
                    body,
                    format_args!(
                        "<text class=\"halo\" x=\"{}\" y=\"{:.1}\">{label}</text>",
                        LEFT + 8.0,
                        y + height / 2.0 + 4.0,
                    ),
                );
            }
        }
    }

    fn write_peak(&self, body: &mut String, constant: &[(&str, u64)], replay: &Replay) {
        if replay.peak_bytes == 0 {
            put(
                body,
                format_args!(
                    "<text class=\"middle\" x=\"{}\" y=\"{}\">The step allocates nothing.</text>",
                    LEFT + self.width() / 2.0,
                    TOP + 40.0,
                ),
            );
            return;
        }
        let (x, y) = (self.x(replay.peak_ns), self.y(replay.peak_bytes));
        let below: u64 = constant.iter().map(|(_, bytes)| bytes).sum();
        let names: Vec<_> = constant.iter().map(|(name, _)| escaped(name)).collect();
        let with = if below == 0 {
            String::new()
        } else {
            format!(", {} with {}", bytes(replay.peak_bytes + below), names.join(" and "))
        };
        // The label goes to the side with more room.
        let (anchor, at) = if x > WIDTH / 2.0 { (" end", x - 8.0) } else { ("", x + 8.0) };
        put(
            body,
            format_args!(
                "<path class=\"peak\" d=\"M{x:.1},{y:.1}V{:.1}\"/>\n<circle class=\"dot\" cx=\"{x:.1}\" \
                 cy=\"{y:.1}\" r=\"3.5\"/>\n<text class=\"halo{anchor}\" x=\"{at:.1}\" y=\"{:.1}\">peak {} \
                 at {}{with}</text>",
                self.zero,
                y - 6.0,
                bytes(replay.peak_bytes),
                duration(replay.peak_ns),
            ),
        );
    }

    /// Writes a legend in two columns; returns the y at which it ends.
    fn write_legend(&self, body: &mut String, series: &[Series]) -> f64 {
        let mut y = TOP + HEIGHT + 62.0;
        let column = self.width() / 2.0;
        for (place, one) in series.iter().enumerate() {
            let x = LEFT + column * (place % 2) as f64;
            let name = escaped(&cut(&one.name, LONGEST_NAME));
            put(
                body,
                format_args!(
                    "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" \
                     rx=\"2\"/>\n<text x=\"{:.1}\" y=\"{y:.1}\">{name} <tspan class=\"faint\">{}</tspan>\
                     <title>{}</title></text>",
                    class(one, place),
                    y - 10.0,
                    x + 18.0,
                    bytes(one.most),
                    escaped(&one.name),
                ),
            );
            if place % 2 == 1 || place + 1 == series.len() {
                y += 20.0;
            }
        }
        y - 10.0
    }
}

fn class(series: &Series, place: usize) -> String {
    if series.name == OTHER { "other".to_owned() } else { format!("s{place}") }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a text takes what is written");
}

/// Cuts a text that is too long in the middle.
fn cut(text: &str, longest: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= longest {
        return text.to_owned();
    }
    let half = (longest - 1) / 2;
    let begin: String = characters[..half].iter().collect();
    let end: String = characters[characters.len() - half..].iter().collect();
    format!("{begin}…{end}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
