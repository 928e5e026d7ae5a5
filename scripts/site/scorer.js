/* Order of search results: guides and the reference before decision records, results and pages of the repository. */
const WEIGHTS = [
  [/^index$/, 2],
  [/^reference\/commands\//, 1.1],
  [/^(decisions|results|repository)\//, 0.4],
  [/^(metrics|design|licences|faults)$/, 0.6],
];

var Scorer = {
  score: ([page, _title, _anchor, _description, score]) => {
    const weight = WEIGHTS.find(([pattern]) => pattern.test(page));
    return weight ? score * weight[1] : score;
  },
  // The rest is as in Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
