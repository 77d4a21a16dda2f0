// Tables to read, and a file to compare.

import { writeFileSync } from 'node:fs';

/** Prints a table. `columns`: [key of the row, heading, how to show it]. */
export function printTable({ title, columns, rows }) {
  const text = [
    columns.map(([, heading]) => heading),
    ...rows.map((row) => columns.map(([key, , show = String]) => show(row[key]))),
  ];
  const widths = columns.map((_, i) => Math.max(...text.map((line) => line[i].length)));
  const draw = (line) =>
    `| ${line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  console.log(`\n### ${title}\n\n${[draw(text[0]), rule, ...text.slice(1).map(draw)].join('\n')}`);
}

/** Writes results as JSON, with every list of numbers on one line. */
export function writeResults(file, results) {
  const rounded = (_, value) =>
    typeof value === 'number' && Number.isFinite(value) ? Number(value.toPrecision(4)) : value;
  const lists = /\[\s+(-?[\d.e+-]+(?:,\s+-?[\d.e+-]+)*)\s+\]/g;
  const text = JSON.stringify(results, rounded, 2).replace(
    lists,
    (_, numbers) => `[${numbers.replace(/\s+/g, ' ')}]`,
  );
  writeFileSync(file, `${text}\n`);
}
