// What comes later: the motion of a run that is still read, and more of one that still goes on.
const PAUSE = 700; // milliseconds
const PATIENCE = 8; // answers that do not come until the page says so
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE));

// all of the runs of which the page has only the scene
export async function readRuns(page) {
  const message = document.getElementById("message");
  for (let missed = 0; page.data.runs.some((run) => run.reading); ) {
    try {
      await take(page, await ask(page));
      message.textContent = "";
    } catch (error) {
      missed += error.status === 503 ? 0 : 1; // it will come
      message.textContent = `The motion cannot be read: ${error.message}`;
      if (error.status === 400 || missed >= PATIENCE) return;
      await pause();
    }
  }
}

export async function followRun(page) {
  page.following ??= !page.query.has("t"); // until the user goes to another time
  if (page.following) page.transport.set(page.span()[1]);
  page.redraw();
  let missed = 0;
  while (page.data.live) {
    await pause();
    try {
      await take(page, await ask(page));
      missed = 0;
    } catch {
      missed += 1; // the server is busy, or gone
    }
    page.panel.lost(missed >= PATIENCE);
  }
}

async function ask(page) {
  const have = page.views.map(({ motion, run }) => `${motion.blocks.length}.${motion.turn}.${run.version}`);
  const answer = await fetch(`news?have=${have.join()}`);
  if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
  return answer.json();
}

async function take(page, news) {
  page.data.live = news.live;
  if (news.runs.every((run) => run === null)) return;
  for (const [k, found] of news.runs.entries()) {
    if (found === null) continue;
    const { blocks, turn, hull, motion, reactions, ...rest } = found;
    const view = page.views[k];
    const { run } = view;
    if (rest.model !== run.model) location.reload(); // another system has taken the file's place
    await view.motion.take(blocks, turn);
    const grown = hull.flat().join() !== run.scene.hull.flat().join();
    Object.assign(run, rest, { reading: false });
    Object.assign(run.motion, motion);
    run.scene.hull = hull;
    await view.setReactions(reactions);
    if (grown) {
      view.measure();
      view.aim();
      view.paint(page.dark);
    }
  }
  page.transport.set(page.following ? page.span()[1] : page.transport.time);
  page.redraw(); // the curves take longer
  await page.charts.load();
  page.panel.update();
  page.redraw();
}
