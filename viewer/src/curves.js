// Which curves are in which chart.
import { Chart } from "./charts.js";
import { arrayOf } from "./data.js";

const $ = (id) => document.getElementById(id);
const COLORS = ["#2f6db5", "#d9722e", "#3a8f4d", "#b8393d", "#7b5aa6", "#8a6d3b", "#1f9ba8"];
const BRIGHT = ["#6aa6ee", "#f09a5c", "#6cc482", "#ee7d80", "#b493e6", "#cfae72", "#5fd0dc"];
const CHOICES = [
  ["position", "coordinates"],
  ["velocity", "velocities"],
  ["force", "reaction force"],
  ["torque", "reaction torque"],
  ["violation", "violation"],
  ["exerted", "what it exerts"],
];

export class Charts {
  constructor(page) {
    this.page = page;
    const seek = (time) => page.transport.go(time);
    this.energy = new Chart($("chart-energy"), "Energy", { seek });
    this.drift = new Chart($("chart-drift"), "Drift", { seek, log: true });
    this.joint = new Chart($("chart-joint"), "Joint", { seek });
    this.all = [this.energy, this.drift, this.joint];
    this.choose = document.createElement("select");
    this.choose.setAttribute("aria-label", "Joint and what is plotted of it");
    this.choose.addEventListener("change", () => this.render());
  }

  // unpack the curves of all runs
  async load() {
    this.curves = [];
    for (const [run, view] of this.page.views.entries()) {
      for (const { t, v, ...rest } of view.run.series) {
        this.curves.push({ ...rest, run, t: await arrayOf(t, "f8"), v: await arrayOf(v, "f4") });
      }
      for (const { joint, wrench } of view.reactions) {
        for (const [chart, first, unit] of [["torque", 0, "N m"], ["force", 3, "N"]]) {
          for (const c of [0, 1, 2]) {
            const v = Float32Array.from(view.times, (_, i) => wrench[6 * i + first + c]);
            this.curves.push({ chart, joint: joint.name, name: "xyz"[c], unit, run, t: view.times, v });
          }
        }
      }
    }
    const kept = this.options?.[Number(this.choose.value)];
    this.options = [];
    for (const joint of new Set(this.curves.map((curve) => curve.joint).filter(Boolean))) {
      for (const [chart, what] of CHOICES) {
        if (this.curves.some((curve) => curve.joint === joint && curve.chart === chart)) this.options.push({ joint, chart, what });
      }
    }
    this.choose.replaceChildren(
      ...this.options.map(({ joint, what }, k) => {
        const option = document.createElement("option");
        option.value = String(k);
        option.textContent = `${joint}: ${what}`;
        return option;
      }),
    );
    const same = kept ? this.options.findIndex(({ joint, chart }) => joint === kept.joint && chart === kept.chart) : -1;
    if (same >= 0) this.choose.value = String(same);
    const reading = this.page.data.runs.some((run) => run.reading); // keep room for what will come
    $("chart-joint").hidden = !reading && !this.options.length;
    $("chart-energy").hidden = !reading && !this.curves.some((curve) => curve.chart === "energy");
    $("chart-drift").hidden = !reading && !this.curves.some((curve) => curve.chart === "drift");
    const shown = ["energy", "drift", "joint"].filter((name) => !$(`chart-${name}`).hidden).length;
    $("charts").hidden = !shown;
    $("charts").style.gridTemplateColumns = `repeat(${shown}, minmax(0, 1fr))`;
    this.render();
  }

  chooseJoint(name) {
    const found = this.options.findIndex((option) => option.joint === name);
    if (found < 0) return;
    this.choose.value = String(found);
    this.render();
  }

  render() {
    if (!this.curves) return;
    const span = this.page.span();
    const colors = this.page.dark ? BRIGHT : COLORS;
    const styled = (found) => {
      const names = [...new Set(found.map((curve) => curve.name))];
      const dashes = [null, [5, 4], [1.5, 3], [8, 3, 2, 3]]; // of the runs
      return found.map((curve) => ({
        ...curve,
        color: colors[names.indexOf(curve.name) % colors.length],
        dash: dashes[curve.run % dashes.length],
      }));
    };
    const of = (chart) => this.curves.filter((curve) => curve.chart === chart);
    this.energy.set(styled(of("energy")), span);
    this.drift.set(styled(of("drift")), span);
    const chosen = this.options[Number(this.choose.value)];
    if (chosen) {
      const found = this.curves.filter((curve) => curve.joint === chosen.joint && curve.chart === chosen.chart);
      this.joint.log = chosen.chart === "violation";
      this.joint.set(styled(found), span, this.choose);
    }
  }

  cursor(time) {
    for (const chart of this.all) chart.cursor(time);
  }
}
