// Lists the sections that match the question above the pages that Sphinx finds. Works on files, without a server.
(() => {
  const IGNORED = new Set(
    "a an and are as at be by can do does for from get give has have how i if in into is it its make me my of on or so some than that the there this to use want what when where which with you your".split(" "),
  );
  const PREFERRED = /^(questions|designer|learn\/|glossary|limitations)/;
  const LATER = /^(theory\/|api\/names)/; // formulas and lists come after what to do
  const MOST = 15;
  // what words of a question are called here
  const ALSO = {
    bouncing: "restitution",
    conserved: "constant",
    cpu: "cores",
    define: "own",
    deterministic: "same",
    docker: "container",
    dof: "freedom",
    earthquake: "shake",
    excel: "spreadsheet",
    gif: "animation",
    headless: "screen",
    mobility: "freedom",
    mp4: "animation",
    overconstrained: "redundant",
    pitch: "euler",
    regulator: "lqr",
    reproducible: "same",
    roll: "euler",
    video: "animation",
    yaw: "euler",
  };

  const stem = (word) => word.replace(/^(\w{4,}?)(ations?|ions?|ings?|ies|ed|es|s|e)$/, "$1");
  const OTHER = Object.fromEntries(Object.entries(ALSO).map((pair) => pair.map(stem)));
  const wordsOf = (text) => text.toLowerCase().match(/[a-z0-9_()\u00c0-\u024f]+/g) ?? [];

  // where a word begins; one of one or two letters, such as q, is the whole word
  const pattern = (term) =>
    new RegExp(`(?<![a-z0-9])${term.replace(/[()]/g, "\\$&")}${term.length < 3 ? "(?![a-z0-9])" : ""}`, "gi");

  function points([, page, heading, text], term) {
    const hits = text.toLowerCase().split(pattern(term)).length - 1;
    const head = heading.search(pattern(term)) >= 0 ? 10 : 0;
    const title = page.search(pattern(term)) >= 0 ? 3 : 0;
    return head + title + (hits ? 2 + Math.min(hits, 4) : 0);
  }

  function score(section, terms) {
    let total = 0;
    let found = 0;
    for (const term of terms) {
      const other = OTHER[term];
      const number = Math.max(points(section, term), other ? 0.8 * points(section, other) : 0);
      if (number) found += 1;
      total += number;
    }
    const [address] = section;
    return total * (found / terms.length) ** 3 * (PREFERRED.test(address) ? 1.6 : LATER.test(address) ? 0.8 : 1);
  }

  function excerpt(text, terms) {
    const body = text.toLowerCase();
    const places = terms.map((term) => body.search(pattern(term))).filter((place) => place >= 0);
    const first = places.length ? Math.max(0, Math.min(...places) - 60) : 0;
    const begin = first ? body.indexOf(" ", first) + 1 : 0;
    return (begin ? "… " : "") + text.slice(begin, begin + 220) + (begin + 220 < text.length ? " …" : "");
  }

  function marked(text, terms) {
    const line = document.createElement("p");
    const found = new RegExp(`(${terms.map((term) => pattern(term).source).join("|")})`, "gi");
    text.split(found).forEach((part, k) => {
      const node = k % 2 ? document.createElement("mark") : document.createTextNode(part);
      if (k % 2) node.textContent = part;
      line.append(node);
    });
    return line;
  }

  function show() {
    const question = new URLSearchParams(window.location.search).get("q") ?? "";
    const terms = [...new Set(wordsOf(question).filter((word) => !IGNORED.has(word)).map(stem))];
    const results = document.getElementById("search-results");
    if (!terms.length || !results) return;
    const best = SECTIONS.map((section) => [score(section, terms), section])
      .filter(([points]) => points > 0)
      .sort((one, other) => other[0] - one[0])
      .slice(0, MOST);
    const list = document.createElement("div");
    list.id = "sections";
    for (const [, [address, page, heading, text]] of best) {
      const item = document.createElement("div");
      const link = document.createElement("a");
      link.href = address;
      link.textContent = heading;
      item.append(link);
      if (heading !== page) {
        const where = document.createElement("small");
        where.textContent = ` ${page}`;
        item.append(where);
      }
      item.append(marked(excerpt(text, terms), terms));
      list.append(item);
    }
    const [title, pages] = ["Sections", "Pages"].map((text) => {
      const heading = document.createElement("h2");
      heading.textContent = text;
      return heading;
    });
    if (best.length) results.before(title, list, pages);
  }

  document.addEventListener("DOMContentLoaded", show);
})();
