// Order of search results: pages that explain come before pages that are looked up.
const ORDER = [
  [/^(questions|designer|learn\/)/, 12],
  [/^(api\/(keys|commands|names)|glossary|limitations)$/, 4],
  [/^theory\//, -4],
  [/^(api\/|decisions\/|validation|corrections|reproduce|benchmarks\/|architecture|accuracy)/, -8],
];

var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    score + (ORDER.find(([pattern]) => pattern.test(page)) || [null, 0])[1],

  // the numbers of Sphinx
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
