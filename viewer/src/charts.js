// Charts under the scene: curves over time with a cursor that moves with it; a click on one goes to that time.
import { between } from "./view.js";

const MARGIN = { left: 54, right: 8, top: 6, bottom: 18 };

export class Chart {
  constructor(figure, title, { log = false, seek }) {
    this.figure = figure;
    this.caption = figure.querySelector("figcaption");
    this.canvas = figure.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.title = title;
    this.log = log;
    this.series = [];
    this.picture = document.createElement("canvas");
    this.head = document.createElement("b");
    this.head.textContent = title;
    this.canvas.setAttribute("role", "img");
    const drag = (event) => {
      if (event.buttons !== 1) return;
      const rect = this.canvas.getBoundingClientRect();
      const part = (event.clientX - rect.left - MARGIN.left) / (rect.width - MARGIN.left - MARGIN.right);
      seek(this.span[0] + Math.min(1, Math.max(0, part)) * (this.span[1] - this.span[0]));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      drag(event);
    });
    this.canvas.addEventListener("pointermove", drag);
    new ResizeObserver(() => this.render()).observe(this.canvas);
  }

  set(series, span, head = this.head) {
    this.series = series;
    this.span = span;
    this.keys = new Map(); // one for each name; its value for each run
    for (const one of series) {
      if (this.keys.has(one.name)) {
        this.keys.get(one.name).of.push(one);
        continue;
      }
      const key = document.createElement("span");
      key.className = "key";
      const line = document.createElement("i");
      line.style.borderColor = one.color;
      const text = document.createElement("span");
      key.append(line, text);
      this.keys.set(one.name, { key, text, of: [one] });
    }
    this.caption.replaceChildren(head, ...[...this.keys.values()].map(({ key }) => key));
    this.canvas.setAttribute("aria-label", `${this.title}: ${series.map((one) => one.name).join(", ")}`);
    this.say(this.time ?? span[0]); // the texts take room that the curves do not have
    this.render();
  }

  render() {
    const { canvas, picture } = this;
    const ratio = Math.min(window.devicePixelRatio, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !height || !this.span) return;
    for (const one of [canvas, picture]) Object.assign(one, { width: width * ratio, height: height * ratio });
    const c = picture.getContext("2d");
    c.scale(ratio, ratio);
    this.ratio = ratio;
    this.range();
    const style = getComputedStyle(document.documentElement);
    const [line, faint] = ["--line", "--faint"].map((name) => style.getPropertyValue(name));
    this.cursorColor = style.getPropertyValue("--accent");
    this.paper = style.getPropertyValue("--paper");
    const x = (t) => MARGIN.left + ((t - this.span[0]) / (this.span[1] - this.span[0] || 1)) * (width - MARGIN.left - MARGIN.right);
    const y = (v) => height - MARGIN.bottom - ((this.scaled(v) - this.low) / (this.high - this.low)) * (height - MARGIN.top - MARGIN.bottom);
    [this.x, this.y] = [x, y];
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = faint;
    c.strokeStyle = line;
    c.lineWidth = 1;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const value of this.ticks(height)) {
      const at = Math.round(y(value)) + 0.5;
      c.beginPath();
      c.moveTo(MARGIN.left, at);
      c.lineTo(width - MARGIN.right, at);
      c.stroke();
      c.fillText(label(value, this.log), MARGIN.left - 6, at);
    }
    c.textBaseline = "alphabetic";
    const times = ticks(this.span[0], this.span[1], Math.max(2, Math.floor(width / 70)));
    times.forEach((t, k) => {
      c.textAlign = x(t) > width - 24 ? "right" : x(t) < MARGIN.left + 8 ? "left" : "center";
      c.fillText(label(t) + (k === times.length - 1 ? " s" : ""), x(t), height - 4);
    });
    c.save();
    c.beginPath();
    c.rect(MARGIN.left, 0, width - MARGIN.left - MARGIN.right, height - MARGIN.bottom + 1);
    c.clip();
    c.lineWidth = 1.5;
    c.lineJoin = "round";
    for (const { t, v, color, dash } of this.series) {
      c.strokeStyle = color;
      c.setLineDash(dash || []);
      c.beginPath();
      let pen = false;
      for (let i = 0; i < t.length; i++) {
        if (!Number.isFinite(v[i])) pen = false;
        else if (pen) c.lineTo(x(t[i]), y(v[i]));
        else {
          c.moveTo(x(t[i]), y(v[i]));
          pen = true;
        }
      }
      c.stroke();
    }
    c.restore();
    this.cursor(this.time ?? this.span[0]);
  }

  scaled(v) {
    return this.log ? Math.log10(Math.max(v, this.floor)) : v;
  }

  range() {
    let [low, high] = [Infinity, -Infinity];
    for (const { v } of this.series) {
      for (const value of v) {
        if (!Number.isFinite(value) || (this.log && value <= 0)) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    if (this.log) {
      if (!(high > 0)) [low, high] = [1e-17, 1e-15];
      const few = this.series.map(({ v }) => [...v].filter((x) => x > 0).sort((a, b) => a - b)).filter((v) => v.length);
      low = Math.min(...few.map((v) => v[Math.floor(0.03 * v.length)]), high / 10); // a start at zero is no scale
      this.low = Math.floor(Math.log10(Math.max(low, 1e-18)));
      this.high = Math.max(Math.ceil(Math.log10(high)), this.low + 1);
      this.floor = 10 ** this.low;
      return;
    }
    if (!(high >= low)) [low, high] = [0, 1];
    const size = Math.max(Math.abs(low), Math.abs(high));
    const pad = high - low < 1e-3 * size ? 0.1 * size : (high - low) * 0.06 || 1; // a constant looks like one
    this.low = low - pad;
    this.high = high + pad;
  }

  ticks(height) {
    if (!this.log) return ticks(this.low, this.high, Math.max(2, Math.floor(height / 34)));
    const step = Math.max(1, Math.ceil((this.high - this.low) / (height / 26)));
    const found = [];
    for (let k = this.high; k >= this.low; k -= step) found.push(10 ** k);
    return found;
  }

  cursor(time) {
    this.time = time;
    if (!this.x) return;
    const { context: c, canvas, picture, ratio } = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, canvas.width, canvas.height);
    c.drawImage(picture, 0, 0);
    c.scale(ratio, ratio);
    const at = this.x(time);
    c.strokeStyle = this.cursorColor;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(at, MARGIN.top - 4);
    c.lineTo(at, canvas.clientHeight - MARGIN.bottom);
    c.stroke();
    for (const [value, color] of this.say(time)) if (Number.isFinite(value)) this.dot(at, this.y(value), color);
  }

  // write the values at a time beside their names; [value, color] of each curve
  say(time) {
    const found = [];
    for (const [name, { text, of }] of this.keys) {
      const values = of.map(({ t, v, color }) => {
        const [i, part] = between(t, time);
        const value = t.length ? (1 - part) * v[i] + part * v[Math.min(i + 1, t.length - 1)] : Number.NaN;
        found.push([value, color]);
        return value;
      });
      text.textContent = `${name} ${values.map(number).join(" | ")}${of[0].unit ? ` ${of[0].unit}` : ""}`;
    }
    return found;
  }

  dot(x, y, color) {
    const { context: c } = this;
    c.fillStyle = color;
    c.strokeStyle = this.paper;
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(x, Math.min(this.canvas.clientHeight - MARGIN.bottom, Math.max(MARGIN.top, y)), 3.5, 0, 7);
    c.fill();
    c.stroke();
  }
}

export function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : value.toPrecision(4);
  return text.replace("-", "−");
}

function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((lead) => lead * power >= rough) * power;
  const first = Math.ceil(low / step - 1e-9);
  const whole = Math.min(50, Math.max(0, Math.floor(high / step + 1e-9) - first + 1));
  return Array.from({ length: whole }, (_, k) => (first + k) * step);
}

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

function label(value, log = false) {
  if (log) return `10${[...String(Math.round(Math.log10(value)))].map((digit) => RAISED[digit]).join("")}`;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(1).replace("-", "−");
  return String(Number(value.toPrecision(6))).replace("-", "−");
}
