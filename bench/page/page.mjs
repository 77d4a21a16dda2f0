// The page of results: docs/performance.md and its charts, all of it made of one run.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { short } from '../harness/numbers.mjs';
import { sections } from './sections.mjs';

/** By whether a goal was met. A control has none to meet. */
const VERDICTS = { true: 'yes', false: '**no**' };

/** Writes the page of a whole run. */
export function writePage(docs, results) {
  mkdirSync(join(docs, 'performance'), { recursive: true });
  const parts = sections.map((section) => {
    const table = results.tables.find(({ title }) => title.startsWith(section.table));
    if (table === undefined) throw new Error(`There is no table of ${section.table} in the results.`);
    const svg = section.draw(section.heading, section.unit, table.rows);
    writeFileSync(join(docs, 'performance', `${section.file}.svg`), svg);
    return partOf(section, table);
  });
  writeFileSync(
    join(docs, 'performance.md'),
    `${[introOf(results), ...parts, goalsOf(results)].join('\n\n')}\n`,
  );
}

function introOf({ machine: { cpu, cores, node, redis } }) {
  return `# Performance

Sluice beside its peers, in one run of \`npm run bench\`, which wrote this page: run it on your machine. Node ${node.slice(1)}, Redis ${redis}, ${cores} cores of ${cpu}, shared with others: believe the ratios, not the times.

How it is measured, what is not equal, and where time goes: [bench](../bench/README.md). Medians; CPU time. Control rows show what the machine itself takes, pale in the charts.`;
}

function partOf({ file, heading, says, columns }, { title, rows }) {
  const shown = rows.filter((row) => columns.some(([key]) => row[key] !== undefined));
  const cells = (row) => columns.map(([key]) => (typeof row[key] === 'string' ? row[key] : short(row[key])));
  return [
    `## ${heading}`,
    says,
    `![${title}](performance/${file}.svg)`,
    [
      `| | ${columns.map(([, head]) => head).join(' | ')} |`,
      `|---|${'---:|'.repeat(columns.length)}`,
      ...shown.map((row) => `| ${row.name} | ${cells(row).join(' | ')} |`),
    ].join('\n'),
  ].join('\n\n');
}

function goalsOf({ goals }) {
  return [
    '## Goals',
    'What was aimed at, and what this run saw. Goals of a control row are no goals of ours: they show what could be had at best. A run fails where it is worse than the goal or, where that was not reached, than the best that was, with some slack for noise.',
    [
      '| goal | at most | seen | met | fails above |',
      '|---|---:|---:|---|---:|',
      ...goals.map(
        ({ goal, most, seen, met, kept }) =>
          `| ${goal} | ${short(most)} | ${short(seen)} | ${VERDICTS[met] ?? ''} | ${short(kept)} |`,
      ),
    ].join('\n'),
  ].join('\n\n');
}
