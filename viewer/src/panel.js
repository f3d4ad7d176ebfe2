// The list of bodies, what is shown, the certificate, labels over the scene, and the keyboard.
import * as THREE from "three";

const $ = (id) => document.getElementById(id);
const LAYERS = [
  ["joints", "Joints", "J", true],
  ["axes", "Axes", "A", false],
  ["frames", "Frames", "E", false],
  ["reactions", "Reactions", "R", false],
  ["gravity", "Weights", "G", false],
  ["labels", "Names", "N", false],
  ["ground", "Ground", "B", true],
];
const HELP = [
  ["Space", "play, pause"],
  ["← →", "step; with Shift ten steps"],
  ["Home, End", "first, last time"],
  ["[ ]", "slower, faster"],
  ["L", "loop"],
  ["C", "frame the whole motion"],
  ["X Y Z", "look along an axis"],
  ["4 6 8 2", "turn the view"],
  ["1 3 7 9", "move it left, right, up, down"],
  ["+ −", "nearer, farther"],
  ["↑ ↓", "choose a body in the list"],
  ["F, H", "follow or hide the chosen body"],
  ["T", "trails"],
  ...LAYERS.map(([, name, key]) => [key, name.toLowerCase()]),
  ["S", "save the picture as PNG, without background"],
  ["P", "panel"],
  ["D", "light or dark"],
];
const TURNS = { 4: [-0.12, 0], 6: [0.12, 0], 8: [0, -0.12], 2: [0, 0.12] }; // radians about the vertical and across
const MOVES = { 1: [-1, 0], 3: [1, 0], 7: [0, 1], 9: [0, -1] };
const HIGH = 21; // of a name, in pixels
const point = new THREE.Vector3();

export class Panel {
  constructor(page) {
    this.page = page;
    this.shown = Object.fromEntries(LAYERS.map(([id, , , on]) => [id, on]));
    this.names = [...new Set(page.views.flatMap((view) => view.bodies.map((body) => body.data.name)))];
    this.labels = new Map();
    this.switches = new Map();
    this.head();
    this.list();
    this.layers();
    this.certificate();
    this.exactness();
    this.trails();
    this.rods();
    this.keys();
    $("toggle-panel").addEventListener("click", () => this.toggle());
    $("reset").addEventListener("click", () => this.frame());
    $("shot-button").addEventListener("click", () => this.save());
    $("theme-button").addEventListener("click", () => page.turnLights());
    $("help-button").addEventListener("click", () => $("help").showModal());
    $("help-close").addEventListener("click", () => $("help").close());
    $("verdict").addEventListener("click", () => {
      this.toggle(true);
      $("certificate-section").scrollIntoView();
    });
    if (window.innerWidth <= 760) this.toggle(false);
    const canvas = $("scene");
    let down = null;
    canvas.addEventListener("pointerdown", (event) => (down = [event.clientX, event.clientY]));
    canvas.addEventListener("pointerup", (event) => {
      if (!down || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
      const hit = page.stage.pick(event.clientX, event.clientY);
      this.select(hit ? hit[1].data.name : null);
    });
  }

  head() {
    const { runs } = this.page.data;
    $("name").textContent = [...new Set(runs.map((run) => run.name))].join(" | ");
    $("method").textContent = runs.length === 1 ? runs[0].label : "";
    if (runs.length > 1) {
      $("captions").replaceChildren(
        ...runs.map((run, k) => {
          const box = document.createElement("div");
          const text = document.createElement("span");
          const dash = ["solid", "dashed", "dotted", "dash-dotted"][k] ?? "";
          text.textContent = run.label;
          text.title = `${dash} lines in the charts`;
          const line = document.createElement("i");
          line.className = dash;
          text.prepend(line);
          box.append(text);
          return box;
        }),
      );
    }
    this.verdict();
  }

  verdict() {
    const { runs } = this.page.data;
    const judged = runs.map((run) => run.certificate).filter(Boolean);
    $("verdict").hidden = !judged.length;
    // the worst of the verdicts, and whose it is if not all have it
    const worst = ["failed", "not judged", "passed"].find((one) => judged.some(({ status }) => status === one));
    $("verdict").classList.toggle("bad", worst !== "passed");
    const what = document.createElement("span");
    what.textContent = "certificate ";
    const word = document.createElement("span");
    word.className = "word";
    const whose = runs.filter((run) => run.certificate?.status === worst).map((run) => run.label);
    word.textContent = worst !== "passed" && whose.length < runs.length ? `${worst}: ${whose.join(", ")}` : worst;
    const sign = { passed: "✓ ", failed: "✗ ", "not judged": "? " }[worst] ?? "";
    $("verdict").replaceChildren(sign, what, word);
    $("verdict").setAttribute("aria-label", `certificate ${word.textContent}`);
    $("live").hidden = runs.every((run) => run.ended);
  }

  // after news of the runs
  update() {
    this.verdict();
    this.certificate();
    this.exactness();
    this.layers();
  }

  // whether the server of a run that goes on does not answer any more
  lost(gone) {
    $("live").classList.toggle("lost", gone);
    $("live").textContent = gone ? "no answer" : "live";
    $("live").title = gone ? "chasles view was ended, or does not answer: this is what was known then" : "";
  }

  // ------------------------------------------------------------ bodies

  list() {
    $("filter").hidden = this.names.length < 12;
    $("filter").addEventListener("input", () => {
      const wanted = $("filter").value.toLowerCase();
      for (const item of this.items.values()) item.row.hidden = !item.name.toLowerCase().includes(wanted);
    });
    this.items = new Map();
    for (const name of this.names) {
      const body = this.find(name);
      const row = document.createElement("li");
      const pick = document.createElement("button");
      pick.className = "pick";
      const swatch = document.createElement("i");
      swatch.className = "swatch";
      swatch.style.background = `#${new THREE.Color().setRGB(...body.data.color.slice(0, 3), THREE.SRGBColorSpace).getHexString()}`;
      const text = document.createElement("span");
      text.textContent = name;
      pick.title = name;
      pick.append(swatch, text);
      pick.addEventListener("click", () => this.select(this.page.selected === name ? null : name));
      const follow = icon("target", `Follow ${name}`, () => this.follow(name));
      const hide = icon("eye", `Hide ${name}`, () => this.hide(name));
      row.append(pick, follow, hide);
      $("bodies").append(row);
      this.items.set(name, { name, row, pick, follow, hide });
    }
  }

  find(name) {
    for (const view of this.page.views) {
      const body = view.bodies.find((one) => one.data.name === name);
      if (body) return body;
    }
    return null;
  }

  select(name) {
    this.page.selected = name;
    for (const item of this.items.values()) {
      item.row.classList.toggle("selected", item.name === name);
      item.pick.setAttribute("aria-pressed", String(item.name === name));
    }
    for (const view of this.page.views) view.highlight(name);
    if (name !== null) {
      this.items.get(name).row.scrollIntoView({ block: "nearest" });
      const { scene } = this.page.data.runs[0];
      const index = scene.bodies.findIndex((body) => body.name === name);
      const joint = scene.joints.find((one) => one.child === index);
      if (joint) this.page.charts.chooseJoint(joint.name);
    }
    this.chooseTrails();
    this.page.redraw();
  }

  hide(name) {
    let off = false;
    for (const view of this.page.views) {
      for (const body of view.bodies) {
        if (body.data.name !== name) continue;
        body.shown = !body.shown;
        body.group.visible = body.shown;
        off = !body.shown;
      }
    }
    const { row, hide } = this.items.get(name);
    row.classList.toggle("off", off);
    hide.setAttribute("aria-pressed", String(off));
    hide.querySelector("use").setAttribute("href", off ? "#i-hidden" : "#i-eye");
    this.page.redraw();
  }

  follow(name) {
    const [view] = this.page.views;
    const index = view.bodies.findIndex((body) => body.data.name === name);
    const { stage } = this.page;
    const on = index >= 0 && !(stage.followed && stage.followed.body === index);
    stage.follow(view, on ? index : null);
    for (const item of this.items.values()) item.follow.setAttribute("aria-pressed", String(on && item.name === name));
    this.page.redraw();
  }

  // ------------------------------------------------------------ what is shown

  // switches of all that there is
  layers() {
    for (const [id, text, key] of LAYERS) {
      const has = id === "labels" || this.page.views.some((view) => view.layers[id].length);
      if (!has) continue;
      if (this.switches.has(id)) {
        this.layer(id, this.shown[id]);
        continue;
      }
      const button = document.createElement("button");
      button.textContent = text;
      button.title = `${text} (${key})`;
      button.addEventListener("click", () => this.layer(id, !this.shown[id]));
      const order = LAYERS.slice(LAYERS.findIndex(([name]) => name === id) + 1);
      const after = order.map(([name]) => this.switches.get(name)).find(Boolean);
      $("layers").insertBefore(button, after ?? null);
      this.switches.set(id, button);
      this.layer(id, this.shown[id]);
    }
  }

  layer(id, on) {
    if (!this.switches.has(id)) return;
    this.shown[id] = on;
    this.switches.get(id).setAttribute("aria-pressed", String(on));
    if (id !== "labels") for (const view of this.page.views) view.show(id, on);
    this.page.redraw();
  }

  // by what rods are colored, and its scale
  rods() {
    const colorings = this.page.views.flatMap((view) => view.colorings);
    const names = [...new Map(colorings.map(({ name, label }) => [name, label]))];
    if (!names.length) return;
    const choice = $("rods");
    for (const [name, label] of [["", "plain"], ...names]) choice.add(new Option(label, name));
    $("rods-row").hidden = false;
    const change = () => {
      for (const view of this.page.views) view.colorRods(choice.value);
      this.page.redraw();
      const shown = colorings.find(({ name }) => name === choice.value);
      const scale = $("rod-scale");
      scale.hidden = !shown;
      if (!shown) return;
      const colors = shown.scale.map((color) => `rgb(${color.map((c) => Math.round(255 * c)).join()})`);
      scale.style.borderImage = `linear-gradient(to right, ${colors.join()}) 1`;
      [...scale.children].forEach((end, k) => (end.textContent = Number(shown.range[k].toPrecision(3))));
    };
    choice.value = this.page.query.get("rods") ?? "";
    choice.addEventListener("change", change);
    change();
  }

  trails() {
    const [first, last] = this.page.span();
    const start = last - first <= 12 ? "1" : last - first <= 60 ? "0.25" : "0.05";
    $("trails").value = start;
    this.page.trails = Number(start);
    $("trails").addEventListener("change", () => {
      this.page.trails = Number($("trails").value);
      this.page.redraw();
    });
    this.chooseTrails();
  }

  chooseTrails() {
    for (const view of this.page.views) {
      const chosen = view.bodies.findIndex((body) => body.data.name === this.page.selected);
      view.setTrails(new Set(chosen >= 0 ? [chosen] : view.leaves()));
    }
  }

  frame() {
    this.page.stage.followed = null;
    for (const item of this.items.values()) item.follow.setAttribute("aria-pressed", "false");
    this.page.stage.frame();
    this.page.redraw();
  }

  // the scene as it is, at twice the size of the screen
  async save() {
    const { stage, transport, data } = this.page;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await stage.picture(2));
    link.download = `${data.runs[0].name} ${transport.time.toPrecision(4)} s.png`.replaceAll(/[\\/:*?"<>|\p{Cc}\p{Cf}]/gu, "_");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  toggle(open = document.body.classList.contains("closed")) {
    document.body.classList.toggle("closed", !open);
    $("side").hidden = !open;
    $("toggle-panel").setAttribute("aria-expanded", String(open));
  }

  // ------------------------------------------------------------ texts

  certificate() {
    const { runs } = this.page.data;
    const tables = runs.filter((run) => run.certificate).map((run) => {
      const table = document.createElement("table");
      if (runs.length > 1) table.createCaption().textContent = run.label;
      for (const { name, shown, tolerance, passed, note } of run.certificate.findings) {
        const row = table.insertRow();
        const what = row.insertCell();
        what.textContent = name;
        const more = document.createElement("span");
        more.className = "note";
        more.textContent = note;
        what.append(more);
        const value = row.insertCell();
        value.className = `value ${tolerance === null ? "" : passed ? "good" : "bad"}`;
        value.textContent = tolerance === null ? shown : `${passed ? "✓" : "✗"} ${shown}`;
        if (tolerance !== null) value.title = `at most ${tolerance.toExponential(0)}`;
      }
      const row = table.insertRow();
      const cell = row.insertCell();
      cell.colSpan = 2;
      cell.textContent = run.certificate.ended;
      return table;
    });
    for (const run of runs.filter((run) => !run.certificate && run.message)) {
      const said = document.createElement("p"); // it goes on, was killed, or failed
      said.className = "note";
      said.textContent = run.message;
      tables.push(said);
    }
    $("certificate").replaceChildren(...tables);
    $("certificate-section").hidden = !tables.length;
  }

  exactness() {
    const notes = this.page.data.runs.flatMap((run) => run.scene.notes);
    $("notes").textContent = notes.map((note) => `${note}.`).join(" ");
    $("notes").hidden = !notes.length;
    const lines = this.page.data.runs.map((run) => {
      const { motion } = run;
      if (run.reading) return "";
      if (!motion.checked) return "One saved time.";
      const some = motion.every > 1 ? ` Looked at was one in ${motion.every} saved times${run.ended ? "" : "; all of them when the run ends"}.` : "";
      const lost = motion.lost ? ` Between ${motion.lost} of them bodies turn too far to be followed.` : "";
      const curve = motion.curve ? "the saved poses and the curve of the integrator between them" : "the saved poses; the file has no curve between them";
      const error = `${motion.error[0].toExponential(1)} (orientation) and ${motion.error[1].toExponential(1)} m (position)`;
      return `Drawn are polynomials through ${curve}: largest difference ${error} at ${motion.checked} times.${some}${lost}`;
    });
    $("exactness").textContent = lines.join(" ");
  }

  // names over the bodies, one below the other where they would meet
  place() {
    const { stage, views, selected } = this.page;
    const wanted = new Map();
    views.forEach((view, k) => {
      view.bodies.forEach((body) => {
        const { name, com } = body.data;
        if (!body.shown || !(this.shown.labels || name === selected)) return;
        point.set(...com).applyMatrix4(body.group.matrix);
        const at = stage.onScreen(k, point);
        if (at) wanted.set(`${k} ${name}`, [name, at[0] + 12, at[1] - 26]);
      });
    });
    for (const [key, { span }] of this.labels) {
      if (wanted.has(key)) continue;
      span.remove();
      this.labels.delete(key);
    }
    const placed = [];
    for (const [key, [name, x, y]] of [...wanted].sort((a, b) => a[1][2] - b[1][2])) {
      if (!this.labels.has(key)) {
        const span = document.createElement("span");
        span.textContent = name;
        $("labels").append(span);
        this.labels.set(key, { span, width: span.offsetWidth });
      }
      const { span, width } = this.labels.get(key);
      let top = y;
      for (const other of placed) if (x < other.right && other.left < x + width && top < other.top + HIGH) top = Math.max(top, other.top + HIGH);
      placed.push({ left: x, right: x + width, top });
      span.style.transform = `translate(${x}px, ${top}px)`;
    }
  }

  // ------------------------------------------------------------ keyboard

  keys() {
    const list = document.querySelector("#help dl");
    for (const [key, what] of HELP) {
      const term = document.createElement("dt");
      term.textContent = key;
      const text = document.createElement("dd");
      text.textContent = what;
      list.append(term, text);
    }
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
      const typing = event.target.closest?.("input[type=search], select");
      const onButton = event.target.closest?.("button");
      if (typing || (onButton && (event.key === " " || event.key === "Enter"))) return;
      if (event.target.id === "scrub" && event.key.startsWith("Arrow")) event.preventDefault();
      if (this.key(event)) event.preventDefault();
    });
  }

  key({ key, shiftKey }) {
    const { transport } = this.page;
    const [first, last] = this.page.span();
    const action = {
      " ": () => transport.toggle(),
      ArrowLeft: () => transport.step(shiftKey ? -10 : -1),
      ArrowRight: () => transport.step(shiftKey ? 10 : 1),
      ArrowUp: () => this.next(-1),
      ArrowDown: () => this.next(1),
      Home: () => transport.go(first),
      End: () => transport.go(last),
      "[": () => transport.changeSpeed(-1),
      "]": () => transport.changeSpeed(1),
      l: () => transport.setLoop(!transport.loop),
      c: () => this.frame(),
      d: () => this.page.turnLights(),
      p: () => this.toggle(),
      s: () => this.save(),
      f: () => this.page.selected !== null && this.follow(this.page.selected),
      h: () => this.page.selected !== null && this.hide(this.page.selected),
      t: () => {
        $("trails").value = this.page.trails ? "0" : "1";
        $("trails").dispatchEvent(new Event("change"));
      },
      x: () => this.look(0),
      y: () => this.look(1),
      z: () => this.look(2),
      ...Object.fromEntries(Object.entries(TURNS).map(([digit, by]) => [digit, () => this.page.stage.turn(...by)])),
      ...Object.fromEntries(Object.entries(MOVES).map(([digit, by]) => [digit, () => this.page.stage.move(...by)])),
      "+": () => this.page.stage.zoom(1 / 1.15),
      "-": () => this.page.stage.zoom(1.15),
      "?": () => $("help").showModal(),
      Escape: () => this.select(null),
      ...Object.fromEntries(LAYERS.map(([id, , letter]) => [letter.toLowerCase(), () => this.layer(id, !this.shown[id])])),
    }[key.length === 1 ? key.toLowerCase() : key];
    action?.();
    return Boolean(action);
  }

  next(by) {
    const at = this.names.indexOf(this.page.selected);
    const index = at < 0 ? (by > 0 ? 0 : this.names.length - 1) : (at + by + this.names.length) % this.names.length;
    this.select(this.names[index] ?? null);
  }

  look(axis) {
    const { stage } = this.page;
    const direction = new THREE.Vector3().setComponent(axis, 1);
    const { up } = stage.camera;
    if (axis === 1 && Math.abs(up.y) < 0.9) direction.negate();
    // from above: what is up on the screen is the next axis, not the vertical
    if (Math.abs(direction.dot(up)) > 0.9) direction.addScaledVector(new THREE.Vector3().setComponent((axis + 2) % 3, -1e-4), 1);
    const distance = stage.camera.position.distanceTo(stage.controls.target);
    stage.camera.position.copy(stage.controls.target).addScaledVector(direction.normalize(), distance);
    this.page.redraw();
  }
}

function icon(name, label, action) {
  const button = document.createElement("button");
  button.className = "icon";
  button.setAttribute("aria-label", label);
  button.title = label;
  button.setAttribute("aria-pressed", "false");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  button.append(svg);
  button.addEventListener("click", action);
  return button;
}
