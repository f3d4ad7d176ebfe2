// The page: reads its data, builds the views, and keeps time.
import * as THREE from "three";
import { Charts } from "./curves.js";
import { followRun, readRuns } from "./live.js";
import { Ghost, Scatter, chosenOf } from "./members.js";
import { Panel } from "./panel.js";
import { Stage, rendererOf } from "./stage.js";
import { Transport } from "./transport.js";
import { View } from "./view.js";

const $ = (id) => document.getElementById(id);

async function load() {
  const inside = JSON.parse($("data").textContent);
  if (inside) return inside;
  $("message").textContent = "reading the run…";
  for (;;) {
    const answer = await fetch("data");
    if (answer.ok) return answer.json();
    if (answer.status !== 503) throw new Error(await answer.text());
    $("message").textContent = await answer.text(); // it will come
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function theme(choice) {
  document.documentElement.dataset.theme = choice;
  return choice === "dark";
}

function startTheme(query) {
  const asked = query.get("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let kept = null;
  try {
    kept = localStorage.getItem("chasles-theme"); // not there in a sandbox
  } catch {}
  const choice = ["light", "dark"].includes(asked) ? asked : kept;
  return { dark: theme(choice ?? (dark.matches ? "dark" : "light")), system: dark, chosen: Boolean(choice) };
}

async function start() {
  const query = new URLSearchParams(location.search);
  const look = startTheme(query);
  const loading = load();
  const renderer = rendererOf($("scene"));
  const data = await loading;
  const chosen = data.study ? chosenOf(data) : 0;
  const others = data.study ? data.runs.filter((_, k) => k !== chosen) : [];
  if (data.study) data.runs = [data.runs[chosen]];
  for (const { scene } of others) data.runs[0].scene.hull.push(...scene.hull); // all of them are to be seen
  const views = data.runs.map((run) => new View(run));
  const ghosts = others.map((run) => new Ghost(run, views[0].world));
  const page = (window.chasles = { data, views, ghosts, query, dark: look.dark, trails: 0, selected: null, frames: 0, drawn: [], ready: false });
  page.span = () => [
    Math.min(...views.map(({ run }) => run.span[0])),
    Math.max(...[...views, ...ghosts].map(({ run }) => run.span[1])),
  ];
  let asked = true; // not before all is there
  page.redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(tick);
  };

  for (const view of views) {
    await view.build();
    const [first] = view.run.motion.blocks;
    if (first) await view.motion.add(first);
  }
  for (const ghost of ghosts) await ghost.build();
  const at = Number.parseFloat(query.get("t") ?? "");
  page.transport = new Transport(page);
  page.transport.set(Number.isFinite(at) ? at : page.span()[0]);
  page.stage = new Stage(renderer, views, page.redraw);

  // the scene first: lists, charts and the rest of the motion can wait
  page.seek = (time) => {
    for (const view of views) {
      view.seek(Math.min(Math.max(time, view.run.span[0]), view.run.span[1]));
    }
    for (const ghost of ghosts) ghost.seek(time);
  };
  for (const view of views) view.dress(page.dark);
  page.seek(page.transport.time);
  $("message").textContent = data.runs.some((run) => run.reading) ? "reading the motion…" : "";
  for (const view of views) renderer.compile(view.world, page.stage.camera); // all shaders at once
  page.stage.draw();
  page.first = performance.timeOrigin + performance.now();
  await new Promise(requestAnimationFrame);

  page.charts = new Charts(page);
  page.panel = new Panel(page);
  if (data.study) new Scatter(data.study, chosen);
  await page.charts.load();
  page.paint = (dark) => {
    page.dark = dark;
    theme(dark ? "dark" : "light");
    for (const view of views) view.paint(dark);
    page.charts.render();
    page.redraw();
  };
  look.system.addEventListener("change", (event) => {
    if (!look.chosen) page.paint(event.matches);
  });
  page.turnLights = () => {
    look.chosen = true;
    page.paint(!page.dark);
    try {
      localStorage.setItem("chasles-theme", page.dark ? "dark" : "light");
    } catch {}
  };

  const screen = new THREE.Vector2();
  function tick(now) {
    asked = false;
    const began = performance.now();
    const playing = page.transport.advance(now);
    const { time } = page.transport;
    page.stage.adapt(now, playing);
    page.seek(time);
    const [, , width, height] = page.stage.region(0);
    screen.set(width, height);
    const [first, last] = page.span();
    for (const view of views) view.drawTrails(Math.min(time, view.run.span[1]), page.trails * (last - first), screen);
    const moving = page.stage.draw();
    page.panel.place();
    page.charts.cursor(time);
    page.frames += 1;
    page.drawn.push(performance.now() - began);
    if (page.drawn.length > 600) page.drawn.shift();
    if (playing || moving) page.redraw();
  }

  page.begin = () => {
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!Number.isFinite(at) && !calm && !data.live && query.get("play") !== "0") page.transport.play();
  };
  page.paint(page.dark);
  asked = false;
  page.redraw();
  for (const view of views) for (const block of view.run.motion.blocks.slice(1)) await view.motion.add(block);
  if (data.runs.some((run) => run.reading)) await readRuns(page);
  page.begin();
  page.redraw();
  if (data.live) followRun(page);

  // for tests and for the curious: what is drawn
  page.ready = true;
  page.pose = (run, name) => {
    const body = views[run].bodies.find((one) => one.data.name === name);
    body.group.updateWorldMatrix(true, false);
    return body.group.matrixWorld.elements.slice();
  };
}

start().catch((error) => {
  $("message").textContent = `The page cannot be shown: ${error.message}`;
  console.error(error);
});
