// Members of a study: one is the run of the page, the others are ghosts around it; a click on a point of the scatter
// plot opens another.
import * as THREE from "three";
import { Motion } from "./motion.js";
import { solidOf } from "./solids.js";

const FAINT = 0.18;
const turn = new THREE.Quaternion();
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, EDGE] = [236, 168, 8];

// which run of a study is shown: the one in the address, or the first
export function chosenOf(data) {
  const asked = Number.parseInt(new URLSearchParams(location.hash.slice(1)).get("member") ?? "", 10);
  const found = data.study.members.indexOf(asked);
  return found < 0 ? 0 : found;
}

export class Ghost {
  constructor(run, world) {
    this.run = run;
    this.motion = new Motion(run.motion);
    this.groups = run.scene.bodies.map(() => {
      const group = new THREE.Group();
      group.matrixAutoUpdate = false;
      world.add(group);
      return group;
    });
  }

  async build() {
    for (const [k, body] of this.run.scene.bodies.entries()) {
      for (const part of body.parts) {
        const mesh = await solidOf(part);
        Object.assign(mesh.material, { transparent: true, opacity: FAINT, depthWrite: false });
        mesh.castShadow = mesh.receiveShadow = false;
        mesh.raycast = () => {}; // the run of the page is what is picked
        this.groups[k].add(mesh);
      }
    }
    for (const block of this.run.motion.blocks) await this.motion.add(block);
  }

  seek(time) {
    const [first, last] = this.run.span;
    const poses = this.motion.seek(Math.min(Math.max(time, first), last));
    this.groups.forEach((group, k) => {
      const at = 7 * k;
      turn.set(poses[at + 1], poses[at + 2], poses[at + 3], poses[at]);
      group.matrix.makeRotationFromQuaternion(turn).setPosition(poses[at + 4], poses[at + 5], poses[at + 6]);
      group.matrixWorldNeedsUpdate = true;
    });
  }
}

function made(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

// the plot of all members: those with a run on the page can be opened
export class Scatter {
  constructor(study, chosen) {
    const { x, y, label, members } = study;
    const places = [x, y].map((values) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return (value) => (high > low ? (value - low) / (high - low) : 0.5);
    });
    const section = document.createElement("section");
    const head = document.createElement("h2");
    head.textContent = "Members";
    const plot = document.createElementNS(SVG, "svg");
    plot.id = "scatter";
    plot.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${label[1]} over ${label[0]}`);
    for (const [k, member] of study.every.entries()) {
      const [u, v] = [places[0](x[k]), places[1](y[k])];
      const there = members.includes(member);
      const cx = EDGE + u * (WIDTH - 2 * EDGE);
      const cy = HEIGHT - EDGE - v * (HEIGHT - 2 * EDGE);
      const dot = made("circle", { cx, cy, r: there ? 5 : 2.5, class: there ? "there" : "" }, plot);
      made("title", {}, dot).textContent = `member ${member}: ${label[0]} = ${x[k]}, ${label[1]} = ${y[k]}`;
      if (!there) continue;
      dot.dataset.member = member;
      dot.setAttribute("tabindex", "0");
      dot.setAttribute("role", "button");
      dot.setAttribute("aria-pressed", String(member === members[chosen]));
      const open = () => {
        location.hash = `member=${member}`;
        location.reload();
      };
      dot.addEventListener("click", open);
      dot.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") open();
      });
    }
    const note = document.createElement("p");
    note.className = "small";
    note.textContent = `${label[1]} over ${label[0]}; this is member ${members[chosen]}`;
    section.append(head, plot, note);
    document.getElementById("side").prepend(section);
  }
}
