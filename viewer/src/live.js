// Follow a run that still goes on: ask the server for what is new.
const PAUSE = 700; // milliseconds

export async function followRun(page) {
  page.following = !page.query.has("t"); // until the user goes to another time
  if (page.following) page.transport.set(page.span()[1]);
  page.redraw();
  let done = page.data.runs.map((run) => run.motion.blocks.length);
  while (page.data.live) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    let news;
    try {
      const answer = await fetch(`news?have=${done.join()}`);
      if (!answer.ok) continue;
      news = await answer.json();
    } catch {
      continue; // the server is busy, or gone
    }
    for (const [k, { blocks, hull, ...rest }] of news.runs.entries()) {
      const view = page.views[k];
      for (const block of blocks) await view.motion.add(block);
      const { scene } = view.run;
      const grown = hull.flat().join() !== scene.hull.flat().join();
      Object.assign(view.run, rest);
      scene.hull = hull;
      if (grown) {
        view.measure();
        view.aim();
        view.paint(page.dark);
      }
    }
    done = done.map((count, k) => count + news.runs[k].blocks.length);
    page.data.live = news.live;
    if (page.following) page.transport.set(page.span()[1]);
    else page.transport.set(page.transport.time);
    page.redraw();
    if (news.runs.some(({ series }) => series)) await page.charts.load();
    page.panel.verdict();
    page.panel.certificate();
    page.redraw();
  }
}
