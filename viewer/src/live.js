// What comes later: the motion of a run that is still read, and more of one that still goes on.
const PAUSE = 700; // milliseconds
const PATIENCE = 8; // answers that do not come until the page says so

// all of the runs of which the page has only the scene
export async function readRuns(page) {
  await take(page, await ask(page));
  document.getElementById("message").textContent = "";
}

export async function followRun(page) {
  page.following = !page.query.has("t"); // until the user goes to another time
  if (page.following) page.transport.set(page.span()[1]);
  page.redraw();
  let missed = 0;
  while (page.data.live) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
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
  const have = page.views.map(({ motion }) => `${motion.blocks.length}.${motion.turn}`);
  const answer = await fetch(`news?have=${have.join()}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function take(page, news) {
  for (const [k, { blocks, turn, hull, motion, reactions, ...rest }] of news.runs.entries()) {
    const view = page.views[k];
    const { run } = view;
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
  page.data.live = news.live;
  page.transport.set(page.following ? page.span()[1] : page.transport.time);
  await page.charts.load();
  page.panel.update();
  page.redraw();
}
