// Time: play, speed, scrub, loop, keys.
const $ = (id) => document.getElementById(id);
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];

export class Transport {
  constructor(page) {
    this.page = page;
    this.time = 0;
    this.playing = false;
    this.loop = true;
    this.before = null;
    const [first, last] = page.span();
    const length = last - first;
    // a run of milliseconds is shown slowly, one of many minutes quickly
    this.speed = SPEEDS.findLast((speed) => length / speed >= 3 && speed <= 1) ?? SPEEDS[0];
    if (length > 120) this.speed = SPEEDS.find((speed) => length / speed <= 120) ?? SPEEDS.at(-1);
    for (const speed of SPEEDS) {
      const option = document.createElement("option");
      option.value = speed;
      option.textContent = `× ${speed}`;
      option.selected = speed === this.speed;
      $("speed").append(option);
    }
    $("speed").addEventListener("change", (event) => (this.speed = Number(event.target.value)));
    $("play-button").addEventListener("click", () => this.toggle());
    $("loop-button").addEventListener("click", () => this.setLoop(!this.loop));
    $("scrub").addEventListener("input", (event) => {
      const [from, to] = page.span();
      this.go(from + Number(event.target.value) * (to - from));
    });
  }

  setLoop(on) {
    this.loop = on;
    $("loop-button").setAttribute("aria-pressed", String(on));
  }

  changeSpeed(by) {
    const index = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(this.speed) + by));
    this.speed = SPEEDS[index];
    $("speed").value = String(this.speed);
  }

  play() {
    const [first, last] = this.page.span();
    if (last <= first) return;
    if (this.time >= last) this.time = first;
    this.playing = true;
    this.page.following = false;
    this.before = null;
    this.button();
    this.page.redraw();
  }

  pause() {
    this.playing = false;
    this.button();
    this.page.redraw();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  button() {
    const button = $("play-button");
    button.querySelector("use").setAttribute("href", this.playing ? "#i-pause" : "#i-play");
    button.setAttribute("aria-label", this.playing ? "Pause (space)" : "Play (space)");
  }

  // to a time, by the user
  go(time) {
    this.set(time);
    this.before = null;
    this.page.following = false;
    this.page.redraw();
  }

  set(time) {
    const [first, last] = this.page.span();
    this.time = Math.min(last, Math.max(first, time));
    $("scrub").value = String(last > first ? (this.time - first) / (last - first) : 0);
    $("scrub").setAttribute("aria-valuetext", `${this.time.toPrecision(4)} s`);
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(last - first || 1) + 0.5)));
    const clock = $("clock");
    clock.replaceChildren(`${this.time.toFixed(digits)} s `);
    const whole = document.createElement("small");
    whole.textContent = `/ ${Number(last.toPrecision(6))} s`;
    clock.append(whole);
  }

  step(by) {
    this.pause();
    const [first, last] = this.page.span();
    this.go(this.time + (by * (last - first)) / 500);
  }

  advance(now) {
    if (!this.playing) return false;
    const [first, last] = this.page.span();
    let time = this.time + (this.before === null ? 0 : ((now - this.before) / 1000) * this.speed);
    this.before = now;
    if (time > last) {
      if (this.page.data.live) time = last;
      else if (this.loop) time = first + ((time - first) % (last - first));
      else {
        time = last;
        this.pause();
      }
    }
    this.set(time);
    return this.playing;
  }
}
