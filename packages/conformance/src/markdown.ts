/**
 * Reads what the documentation says in a form that can be checked: fenced blocks, headings, links, worked traces.
 *
 * @module
 */

import type { Policy } from '@sluice/core';

/** A fenced block. */
export interface Fence {
  /** The word after the opening fence, such as `ts`. */
  readonly language: string;
  readonly text: string;
  /** The line of the page, from 1, that its text begins on. */
  readonly line: number;
}

/** A policy and what it decides, as a page tells it. */
export interface Trace {
  readonly policy: Policy;
  readonly steps: readonly TraceStep[];
  readonly line: number;
}

/** One row of a worked trace. */
interface TraceStep {
  readonly at: number;
  readonly cost: number;
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
  readonly delayMs: number;
  readonly line: number;
}

const COLUMNS = '| at (ms) | cost | allowed | remaining | retry after (ms) | reset (ms) |';
const COLUMNS_WITH_DELAY = `${COLUMNS} delay (ms) |`;

/** Returns the fenced blocks of a page, in order. */
export function fencesOf(page: string): Fence[] {
  const fences: Fence[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  page.split('\n').forEach((line, i) => {
    const mark = /^```(\w*)/.exec(line);
    if (open === undefined) {
      if (mark !== null) open = { language: mark[1], line: i + 2, lines: [] };
    } else if (mark === null) open.lines.push(line);
    else {
      fences.push({ language: open.language, text: open.lines.join('\n'), line: open.line });
      open = undefined;
    }
  });
  if (open !== undefined) throw new Error(`The block of line ${open.line} has no end.`);
  return fences;
}

/** Returns a page without its fenced blocks; every line stays where it was. */
function proseOf(page: string): string {
  let inside = false;
  return page
    .split('\n')
    .map((line) => {
      const isMark = line.startsWith('```');
      const isProse = !inside && !isMark;
      if (isMark) inside = !inside;
      return isProse ? line : '';
    })
    .join('\n');
}

/** Returns the headings of a page, without marks. */
export function headingsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, text]) => text.replaceAll('`', ''));
}

/** Returns the anchor that a heading gets where the page is shown. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns where the links of a page lead. */
export function linksOf(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
}

/**
 * Returns the worked traces of a page: each `json` block, a policy, with the table that follows it.
 *
 * @throws if a block has no table, or the table other columns than it must have.
 */
export function tracesOf(page: string): Trace[] {
  const lines = page.split('\n');
  return fencesOf(page)
    .filter((fence) => fence.language === 'json')
    .map(({ text, line }) => {
      const policy = JSON.parse(text) as Policy;
      const columns = policy.algorithm === 'leaky-bucket' ? COLUMNS_WITH_DELAY : COLUMNS;
      const next = lines.findIndex((other, i) => i >= line && /^\||^#/.test(other));
      if (lines[next] !== columns) {
        throw new Error(`Expected the table ${columns} after line ${line}, got ${lines[next]}`);
      }
      const steps: TraceStep[] = [];
      for (let i = next + 2; lines[i].startsWith('|'); i++) steps.push(stepOf(lines[i], i + 1));
      if (steps.length === 0) throw new Error(`The trace of line ${line} has no rows.`);
      return { policy, steps, line };
    });
}

function stepOf(row: string, line: number): TraceStep {
  const cells = row.split('|').map((cell) => cell.trim());
  const [at, cost, remaining, retryAfterMs, resetMs, delayMs] = [1, 2, 4, 5, 6, 7].map((i) =>
    cells[i] === 'never' ? Infinity : Number(cells[i] || '0'),
  );
  if (!/^(yes|no)$/.test(cells[3]) || [at, cost, remaining, retryAfterMs, resetMs, delayMs].includes(NaN)) {
    throw new Error(`Line ${line} is no row of a trace: ${row}`);
  }
  return { at, cost, allowed: cells[3] === 'yes', remaining, retryAfterMs, resetMs, delayMs, line };
}
